"""Several tokens a run in a page: drafts that are verified, and sequences that are decoded together."""

from __future__ import annotations

from playwright_tests.engine.engine_page import EnginePage

REPLY = """
model = kept["model"]
async def reply(prompt, count, **options):
    await model.reset()
    generation = model.generate(prompt, max_tokens=count, stop_ids=[], **options)
    async for _ in generation:
        pass
    return generation
"""


def test_verified_drafts_are_the_ids_of_plain_steps(engine: EnginePage) -> None:
    repeats, drafted, plain, tried = engine.python.run(
        REPLY
        + """
repeats = [5, 6, 7, 8] * 10
model.engine.tries_lookup = True  # as on a GPU, whatever this is
plain, drafted = await reply(repeats, 60), await reply(repeats, 60, prompt_lookup=True)
unlike, tried = await reply(given["prompt"], 40), await reply(given["prompt"], 40, prompt_lookup="auto")
return (plain.ids, [drafted.ids, vars(drafted.speculation)], unlike.ids, [tried.ids, vars(tried.speculation)])
""",
        prompt=engine.prompt,
    )
    ids, seen = drafted
    assert ids == repeats
    assert seen["accepted"] > 0
    # A run gives its accepted drafts and one token more, the last perhaps past the end; the prompt's own is of none.
    assert seen["steps"] + seen["accepted"] in (59, 60)
    assert seen["steps"] < 59
    ids, seen = tried
    assert ids == plain
    if engine.golden:  # a real model repeats itself where it likes
        assert seen["switched_off"]


def test_sequences_decoded_together_have_the_ids_of_each_alone(engine: EnginePage) -> None:
    alone, together, reasons = engine.python.run(
        REPLY
        + """
prompts = [given["prompt"], given["prompt"][:20], [5, 6, 7]]
alone = [(await reply(prompt, 12)).ids for prompt in prompts]
await model.reset()
made = model.generate_together(prompts, max_tokens=12, stop_ids=[])
async for _ in made:
    pass
penalties = {"repetition_penalty": 1.5, "logit_bias": {alone[0][0]: -4.0}}
penalized = [(await reply(prompt, 4, **penalties)).ids for prompt in prompts[:2]]
await model.reset()
other = model.generate_together(prompts[:2], max_tokens=4, stop_ids=[], **penalties)
async for _ in other:
    pass
return [*alone, *penalized], [*made.ids, *other.ids], made.finish_reasons
""",
        prompt=engine.prompt,
    )
    assert together == alone
    assert reasons == ["length"] * 3
