#!/usr/bin/env python3
"""Writes docs/REPRODUCED.md: the figures of the literature, as this machine reproduces them.

    cargo build --release && python3 tools/reproduced.py target/release/queens
"""

import datetime
import json
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def main(program):
    sources = json.loads((ROOT / "crates/literature/src/sources.json").read_text())
    of_figure = {figure["name"]: figure["source"] for figure in sources["figure"]}
    named = re.search("model name.*: (.*)", Path("/proc/cpuinfo").read_text())
    load = os.getloadavg()[0]
    shared = "otherwise idle" if load < 1 else "shared with other programs"
    loop = json.loads(run(program, "count", "12", "--json"))["backend"]
    page = [
        "# Figures of the literature, reproduced\n\n"
        f"`tools/reproduced.py` wrote this page on {datetime.date.today()}, on "
        f"{named[1].strip() if named else 'an unknown processor'}, {len(os.sched_getaffinity(0))} processors, {shared} (load {load:.1f} "
        f"at the start), counting loop {loop}. `queens reproduce --only FIGURE --json` prints the command that prints a "
        "figure. A figure with a decimal point is measured, and differs if it is not within the factor that `crates/literature/src/sources.json` names.\n\n"
        "| figure | what it is | source | its value | ours |\n|---|---|---|---|---|"
    ]
    lines = [json.loads(line) for line in run(program, "reproduce", "--json").splitlines()]
    for line in lines:
        ours = line["ours"]
        if line["verdict"] != "agrees":
            ours = f"{ours}, {line['verdict']}"
        elif ours == line["source_value"]:
            ours = "same"
        cells = [line["figure"], line["claim"], of_figure[line["figure"]], line["source_value"], ours]
        page.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |")
    for line in lines:
        if line["reason"]:
            page.append(f"\n`{line['figure']}`: {line['reason']}")
    page.append("\n## Sources\n")
    used = {of_figure[line["figure"]]: line for line in lines}
    for source, line in used.items():
        year = f" ({line['year']})" if line["year"] else ""
        page.append(f"- {source}: {line['author']}{year}. {line['place']}.")
    (ROOT / "docs/REPRODUCED.md").write_text("\n".join(page) + "\n")


def run(program, *arguments):
    """What a command prints. It ends with 14 if a figure is not reproduced, which the page says, too."""
    done = subprocess.run([program, *arguments], text=True, stdout=subprocess.PIPE)
    if done.returncode not in (0, 14):
        sys.exit(f"{program} {' '.join(arguments)} ended with {done.returncode}")
    return done.stdout


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("name the program, as in target/release/queens")
    main(sys.argv[1])
