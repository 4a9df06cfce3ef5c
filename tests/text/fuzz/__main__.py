"""The whole fuzz: `python -m tests.text.fuzz`. Exit status 1 where the packages differ."""

from __future__ import annotations

import argparse
import os
import secrets
import sys
import time
from collections import Counter

from tests.text.fuzz.models import NAMES
from tests.text.fuzz.work import BROKEN, LONG_NAMES, cases, command, pool, run_case, run_chunk

TEXTS = 20_000
SHOWN_A_MODEL = 10


def main(argv: list[str] | None = None) -> int:
    options = parsed(argv)
    known = (*NAMES, *BROKEN)
    names = [name for name in known if not options.only or name in options.only] + options.models
    unknown = set(options.only) - set(names)
    if unknown or not names:
        print(f"--only must be of {', '.join(known)}, got {', '.join(sorted(unknown))}", file=sys.stderr)
        return 2
    if options.case is not None:
        wrong = [line for name in names for line in run_case(name, options.case)]
        print(*wrong or ["no difference"], sep="\n    ")
        return 1 if wrong else 0
    print(f"seed {options.seed}, {options.texts} texts a model, {len(names)} models", flush=True)
    began, counts, found, waiting = time.monotonic(), Counter[str](), Counter[str](), Counter[str]()
    chunks = [chunk for name in names for chunk in cases(name, options.seed, options.texts, options.long)]
    waiting.update(chunk.name for chunk in chunks)
    with pool(os.cpu_count() or 1) as workers:
        for chunk, wrong in workers.imap_unordered(run_chunk, chunks):
            counts[chunk.name] += len(chunk.seeds)
            waiting[chunk.name] -= 1
            for seed, lines in wrong:
                found[chunk.name] += 1
                if found[chunk.name] <= SHOWN_A_MODEL:
                    print(command(chunk.name, seed), *lines, sep="\n    ", flush=True)
            if not waiting[chunk.name]:
                name, seconds = chunk.name, time.monotonic() - began
                print(f"{name}: {found[name]} of {counts[name]} differ ({seconds:.0f} s)", flush=True)
    total = f"{found.total()} of {counts.total()} cases differ, {len(names)} models, {time.monotonic() - began:.0f} s"
    print(f"{total}, seed {options.seed}")
    return 1 if found else 0


def parsed(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.text.fuzz", description=__doc__)
    parser.add_argument("--texts", type=int, default=TEXTS, help=f"random texts for each model ({TEXTS})")
    parser.add_argument("--seed", default=str(secrets.randbelow(10**9)), help="draws the texts (a random one, printed)")
    parser.add_argument("--models", nargs="*", default=[], metavar="FILE", help="more SentencePiece model files")
    parser.add_argument("--only", nargs="*", default=[], metavar="NAME", help="these models and no others")
    parser.add_argument(
        "--no-long", dest="long", action="store_const", const=(), default=LONG_NAMES, help="no texts of 100 kB"
    )
    parser.add_argument("--case", metavar="SEED", help="one case again, as a difference names it")
    return parser.parse_args(argv)


if __name__ == "__main__":
    sys.exit(main())
