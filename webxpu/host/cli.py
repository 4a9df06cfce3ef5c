"""The command `webxpu`. Each command's work is in a module of its own, imported when it is called."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from webxpu.host import exits
from webxpu.host.browser import ADAPTERS
from webxpu.quant.kv import KV_TYPES

_CONVERT_TOKENIZER = "convert tokenizer"


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit code; a failure is one clear text on standard error."""
    options = parsed(sys.argv[1:] if arguments is None else arguments)
    try:
        return int(options.run(options))
    except exits.REPORTED as error:
        print(f"webxpu {options.command}: {error}", file=sys.stderr)
        return exits.code_of(error)
    except KeyboardInterrupt:
        return exits.INTERRUPTED


def parsed(arguments: Sequence[str]) -> argparse.Namespace:
    """The options of a command; SystemExit, as argparse has it, where there is no such command."""
    return _parser().parse_args(_joined(arguments))


def _joined(arguments: Sequence[str]) -> list[str]:
    """`convert tokenizer` is a command of two words, unless the second is the folder of a model: then --to is there."""
    command, *rest = list(arguments) or [""]
    word = next((word for word in rest if not word.startswith("-")), "")
    if f"{command} {word}" != _CONVERT_TOKENIZER or any(other.startswith("--t") for other in rest):
        return list(arguments)
    rest.remove(word)
    return [_CONVERT_TOKENIZER, *rest]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="webxpu",
        description="Models on the GPU of a real browser, from Python.",
        epilog=exits.HELP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="command")

    def command(name: str, run: object, help: str) -> argparse.ArgumentParser:
        added = commands.add_parser(
            name,
            help=help,
            description=f"{help[0].upper()}{help[1:]}.",
            epilog=exits.HELP,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        added.set_defaults(run=run)
        return added

    fetch = command("fetch", _fetch, "download the third-party files and lay out the site")
    fetch.add_argument("names", nargs="*", help="assets to fetch; without names all of them, and the site is made")
    fetch.add_argument("--to", type=Path, metavar="DIR", help="copy them into a folder that WEBXPU_ASSETS can name")
    fetch.add_argument("--quiet", action="store_true", help="print no list of files")

    _add_run(command("run", _run, "load a model in a headless browser and print its reply"))

    chat = command("chat", _chat, "serve the chat page on localhost and open it where there is a desktop")
    chat.add_argument("--port", type=int, help="the port; without it 8642, or a free one where that is taken")
    serve = command("serve", _serve, "serve all pages on localhost")
    serve.add_argument("--port", type=int, help="the port; without it 8642, or a free one where that is taken")

    doctor = command("doctor", _doctor, "say what this machine has: Python, browser, adapter, limits, assets")
    doctor.add_argument("--kernels", action="store_true", help="also list which kernel each op gets on this adapter")
    _add_adapter(doctor)

    verify = command("verify", _verify, "run every case of every op by every kernel on the GPU and compare with NumPy")
    verify.add_argument("--op", nargs="+", metavar="NAME", help="only these ops (conv2d) or modules of ops (conv)")
    verify.add_argument("--json", type=Path, metavar="FILE", help="write what was found as JSON")
    verify.add_argument("--html", type=Path, metavar="FILE", help="write it as one page for a browser")
    _add_adapter(verify)

    _add_bench(
        command(
            "bench", _bench, "measure ops or a model on the GPU, as a part of what it can do at most, or tokenizers"
        )
    )

    _add_convert(command("convert", _convert, "write a model's weights in another type, as a folder to load"))
    described = "write a SentencePiece tokenizer's vocabulary as one JSON file"
    _add_convert_tokenizer(command(_CONVERT_TOKENIZER, _convert_tokenizer, described))

    kernels = command("kernels", _kernels, "write the assembled WGSL modules, for any other host")
    kernels.add_argument("action", choices=["export"])
    kernels.add_argument("folder", type=Path, metavar="DIR")
    return parser


def _add_run(run: argparse.ArgumentParser) -> None:
    run.add_argument("prompt", help="the text to go on from; with --chat the message to answer")
    run.add_argument("--chat", action="store_true", help="answer as an assistant, with the model's chat template")
    run.add_argument("--max-tokens", type=_positive, default=256, metavar="N", help="stop after N tokens (256)")
    run.add_argument("--model", metavar="PATH_OR_URL", help="a file or folder, or its address; SmolLM2-135M by default")
    run.add_argument("--temperature", type=_temperature, default=0.0, metavar="T", help="0, the default, is greedy")
    run.add_argument("--seed", type=int, metavar="N", help="makes sampling repeatable")
    run.add_argument("--json", action="store_true", help="print one JSON object instead of the text")
    _add_adapter(run)


def _add_bench(bench: argparse.ArgumentParser) -> None:
    measured = bench.add_mutually_exclusive_group()
    measured.add_argument("--op", nargs="+", metavar="NAME", help="only these ops; all of them without an option")
    measured.add_argument(
        "--model",
        nargs="?",
        const="",
        metavar="PATH_OR_URL",
        help="a language model: how fast it reads a prompt and makes tokens; without a name SmolLM2-135M",
    )
    measured.add_argument(
        "--synthetic", metavar="NAME", help="a model with random weights in the shape of NAME, such as qwen3-1.7b"
    )
    measured.add_argument(
        "--tokenizer",
        nargs="+",
        metavar="PATH_OR_URL",
        help="tokenizers: how fast they load, cut texts and put them together in the browser's Python, without a GPU",
    )
    bench.add_argument("--text", type=Path, metavar="FILE", help="what tokenizers cut, in place of their own texts")
    bench.add_argument(
        "--type", metavar="TYPE", help="of a synthetic model's weights, such as q1_0 or q4_k; --synthetic needs it"
    )
    bench.add_argument("--kv", choices=KV_TYPES, default="f32", help="how a model's cache keeps its numbers (f32)")
    bench.add_argument("--json", type=Path, metavar="FILE", help="write what was measured as JSON")
    _add_adapter(bench)


def _add_convert(convert: argparse.ArgumentParser) -> None:
    convert.description = (
        f"{convert.description}\n\nA tokenizer alone is written by another command, see its --help:\n"
        f"  webxpu {_CONVERT_TOKENIZER} SOURCE OUT.json"
    )
    convert.add_argument("source", type=Path, metavar="SOURCE", help="a Hugging Face folder or a GGUF file")
    convert.add_argument("folder", type=Path, metavar="DIR", help="the folder to make")
    convert.add_argument(
        "--to",
        required=True,
        choices=["q8", "q4g128", "q1_0"],
        help="q8: 8 bits and a scale a row; q4g128: 4 bits and a scale every 128 columns; q1_0: signs, for models that "
        "were trained for them and for tests, as any other model is left with little of what it knew",
    )
    convert.add_argument("--keep-head", action="store_true", help="leave the embedding and the head in their own type")
    convert.add_argument("--force", action="store_true", help="replace a checkpoint that is in DIR already")


def _add_convert_tokenizer(convert: argparse.ArgumentParser) -> None:
    convert.add_argument(
        "source",
        type=Path,
        metavar="SOURCE",
        help="a tokenizer.model, a GGUF file, a tokenizer.json with a Unigram model, or a folder with one of them; a "
        "tokenizer_config.json beside it counts",
    )
    convert.add_argument("out", type=Path, metavar="OUT.json", help="the file to write")
    convert.add_argument(
        "--fixtures",
        action="store_true",
        help="also write OUT.fixtures.json: some 80 texts with the ids and the decoded text that the package "
        "sentencepiece gives for them, or tokenizers for a tokenizer.json",
    )
    convert.add_argument("--force", action="store_true", help="replace files that are there already")


def _add_adapter(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--adapter",
        choices=ADAPTERS,
        help="swiftshader computes on the CPU; vulkan asks for the Vulkan driver; default adds no flag. "
        "Without it CHROME_FLAGS decide where set, else default",
    )


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"must be at least 1, got {value}")
    return value


def _temperature(text: str) -> float:
    value = float(text)
    if not 0 <= value < float("inf"):
        raise argparse.ArgumentTypeError(f"must be 0 or more, got {text}")
    return value


def _fetch(options: argparse.Namespace) -> int:
    from webxpu.host.assets import copy_to, read_lock
    from webxpu.host.fetch import fetch
    from webxpu.host.progress import download_bars
    from webxpu.host.site import build_site

    with download_bars() as report:
        paths = fetch(options.names or None, report)
    lock = read_lock()
    if options.to is not None:
        copy_to(options.to, {lock[name]: path for name, path in paths.items()})
        paths = {name: options.to / lock[name].file for name in paths}
    if not options.quiet:
        for name, path in paths.items():
            print(f"{name:20} {lock[name].size_bytes:>12,}  {path}")
    if not options.names:
        site = build_site()
        if not options.quiet:
            print(f"{'site':20} {'':12}  {site}")
    return exits.OK


def _run(options: argparse.Namespace) -> int:
    from webxpu.host.run import run

    return run(options)


def _chat(options: argparse.Namespace) -> int:
    from webxpu.host.chat import serve_pages

    return serve_pages("/chat/", port=options.port, open_page=True)


def _serve(options: argparse.Namespace) -> int:
    from webxpu.host.chat import serve_pages

    return serve_pages("/", port=options.port, open_page=False)


def _doctor(options: argparse.Namespace) -> int:
    from webxpu.host.doctor import doctor

    return doctor(options.adapter, kernels=options.kernels)


def _verify(options: argparse.Namespace) -> int:
    from webxpu.host.verify import verify

    return verify(options)


def _bench(options: argparse.Namespace) -> int:
    if options.text is not None and options.tokenizer is None:
        raise exits.UsageError("--text is for --tokenizer")
    if options.model is not None or options.synthetic is not None:
        from webxpu.host.bench_model import bench_model

        return bench_model(options)
    if options.type is not None:
        raise exits.UsageError("--type is for --synthetic")
    if options.tokenizer is not None:
        from webxpu.host.bench_tokenizer import bench_tokenizer

        return bench_tokenizer(options)
    from webxpu.host.bench import bench

    return bench(options)


def _convert(options: argparse.Namespace) -> int:
    from webxpu.host.convert import convert_command

    return convert_command(options)


def _convert_tokenizer(options: argparse.Namespace) -> int:
    from webxpu.host.convert_tokenizer import convert_tokenizer_command

    return convert_tokenizer_command(options)


def _kernels(options: argparse.Namespace) -> int:
    from webxpu.host.kernels import export

    print(f"{export(options.folder)} modules in {options.folder}")
    return exits.OK


if __name__ == "__main__":
    sys.exit(main())
