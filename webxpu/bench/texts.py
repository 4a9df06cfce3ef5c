"""Texts for the speed of tokenizers: English, Japanese and Python, of any length and different in each round."""

from __future__ import annotations

import random
from pathlib import Path

import webxpu

ENGLISH = """\
The harbour lay quiet under a thin layer of fog, and only the bell on the outer buoy could be heard.
Nobody in the village remembered who had built the bridge, although three families claimed the honour.
She counted the coins twice, wrote the sum into a narrow ledger and locked the drawer without a word.
When the committee met again in October, most of its members had already changed their minds.
A good map shows not only where the roads are but also which of them nobody should take in winter.
The engineers measured the current at dawn, when the pumps were still and the water had settled.
"If you leave now," the driver said, "you will reach the station before the second train arrives."
His grandmother's recipe called for walnuts, dark honey and considerably more patience than he possessed.
Two thirds of the samples were lost during transport; the remaining ones confirmed the earlier hypothesis.
Children learn the rules of a game by breaking them, which is also how most experiments begin.
It rained for eleven days, and on the twelfth the river took the lower meadow and half of the orchard.
The translation is faithful, yet it loses the rhythm that made the original so easy to recite.
Every machine in the workshop had a name, and the oldest lathe was addressed with particular respect.
We expected a short delay of perhaps twenty minutes; the announcement came four hours later.
The librarian recommended a slim volume about glaciers, lighthouses and the psychology of waiting.
Prices rose quickly at first, then more slowly, and finally stopped rising altogether.
An honest answer would have taken courage, so he offered her a cup of tea instead.
The telescope was designed for cold nights and clear air, neither of which the city could provide.
From the tower one sees the whole valley: vineyards, gravel pits, a railway line and the new hospital.
Her argument was simple enough: whatever cannot be measured should at least be described with care.
Several passengers complained about the noise, although the violinist in the last carriage played beautifully.
The contract mentions neither the basement nor the garden, and that omission kept two lawyers busy for years.
Swallows return to the same barn each spring, sometimes within a single afternoon of the year before.
He repaired clocks for a living and was, by his own admission, never on time.
The software had been tested on small files only, and nobody was surprised when the large one failed.
Salt, iron and wool travelled north along this road; letters, fashions and rumours came back.
At the end of the performance the audience remained silent for so long that the actors grew nervous.
The apprentice asked why the copper turned green, and received a lecture that lasted until supper.
Without electricity the house seemed larger, and its staircase steeper than anybody had noticed.
Their correspondence fills nine boxes, of which the archive has catalogued approximately one half.
"""
JAPANESE = """\
港は薄い霧に包まれ、沖の浮標の鐘だけが静かに鳴っていた。
この橋を誰が架けたのか、村で覚えている人はもう一人もいない。
彼女は硬貨を二度数え、細長い帳簿に合計を書き込んで、黙って引き出しに鍵をかけた。
十月に委員会が再び開かれたとき、委員の多くはすでに意見を変えていた。
よい地図は道の場所だけでなく、冬に通ってはいけない道も教えてくれる。
技術者たちは夜明けにポンプを止め、水が落ち着くのを待って流れを測定した。
「今すぐ出れば、二本目の列車が着く前に駅へ行けますよ」と運転手は言った。
祖母のレシピには、くるみと濃い蜂蜜と、彼にはない根気が必要だった。
試料の三分の二は輸送中に失われたが、残りは以前の仮説を裏づけた。
子どもは規則を破りながら遊びを覚える。実験もたいていそのように始まる。
雨は十一日間降り続き、十二日目に川は下の牧草地と果樹園の半分をのみ込んだ。
翻訳は正確だが、原文を口ずさみやすくしていたリズムが失われている。
工場の機械にはみな名前があり、一番古い旋盤には特別な敬意が払われていた。
遅れは二十分ほどだと思っていたのに、案内放送が流れたのは四時間後だった。
司書は、氷河と灯台と待つことの心理についての薄い本を勧めてくれた。
物価は初めは急に、やがてゆっくりと上がり、ついに上がらなくなった。
正直に答えるには勇気が要るので、彼は代わりにお茶を一杯すすめた。
望遠鏡は寒い夜と澄んだ空気のために作られたが、この街にはそのどちらもない。
塔に登ると、ぶどう畑、砂利の採取場、線路、新しい病院まで谷全体が見渡せる。
測れないものは、せめて丁寧に言葉で記録するべきだというのが彼女の考えである。
最後の車両のバイオリン弾きは見事だったが、うるさいと苦情を言う乗客もいた。
契約書には地下室も庭も書かれておらず、そのために弁護士たちは何年も忙しかった。
つばめは毎年春になると同じ納屋に戻り、その日付は一日も違わないことがある。
彼は時計の修理で暮らしていたが、自分でも認めるとおり、時間を守ったことがない。
そのソフトウェアは小さなファイルでしか試されておらず、大きなものが失敗しても誰も驚かなかった。
塩と鉄と羊毛はこの道を北へ運ばれ、手紙と流行とうわさが南へ戻ってきた。
公演が終わっても客席は長いあいだ静まり返り、俳優たちは不安になった。
なぜ銅が緑色になるのかと弟子が尋ねると、夕食まで続く講義が始まった。
停電すると家は広く感じられ、階段は誰もが思っていたより急だった。
二人の往復書簡は九箱に及び、資料館が目録に載せたのはおよそ半分である。
"""


def samples(characters: int, rounds: int) -> dict[str, list[str]]:
    """By name: so many texts of so many characters. Sentences come in another order in each, code is webxpu's own."""
    code = "".join(
        path.read_text("utf-8") for path in sorted(Path(webxpu.__file__).parent.joinpath("text").glob("*.py"))
    )
    return {
        "English": [_shuffled(ENGLISH.splitlines(), " ", characters, seed) for seed in range(rounds)],
        "Japanese": [_shuffled(JAPANESE.splitlines(), "", characters, seed) for seed in range(rounds)],
        "Python": slices(code, characters, rounds),
    }


def slices(text: str, characters: int, rounds: int) -> list[str]:
    """Parts of a text, one behind the other; a text that is too short goes on from its beginning."""
    whole = text * (characters * rounds // len(text) + 1)
    return [whole[start : start + characters] for start in range(0, characters * rounds, characters)]


def _shuffled(sentences: list[str], between: str, characters: int, seed: int) -> str:
    rng = random.Random(seed)
    parts: list[str] = []
    length = 0
    while length < characters:
        order = rng.sample(sentences, len(sentences))
        parts += order
        length += sum(len(sentence) + len(between) for sentence in order)
    return between.join(parts)[:characters]
