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
    sources = json.loads((ROOT / "vectors/sources.json").read_text())
    of_figure = {figure["name"]: figure["source"] for figure in sources["figure"]}
    named = re.search("model name.*: (.*)", Path("/proc/cpuinfo").read_text())
    load = os.getloadavg()[0]
    shared = "otherwise idle" if load < 1 else "shared with other programs"
    loop = json.loads(run(program, "count", "12", "--json"))["backend"]
    print(
        "# Figures of the literature, reproduced\n\n"
        f"`tools/reproduced.py` wrote this page on {datetime.date.today()}, on "
        f"{named[1].strip() if named else 'an unknown processor'}, {os.cpu_count()} processors, {shared} (load {load:.1f} "
        f"at the start), counting loop {loop}. `queens reproduce --only FIGURE --json` prints the command that prints a "
        "figure. A figure with a decimal point is measured, and agrees within the factor that `vectors/sources.json` names.\n\n"
        "| figure | what it is | source | its value | ours |\n|---|---|---|---|---|"
    )
    lines = [json.loads(line) for line in run(program, "reproduce", "--json").splitlines()]
    for line in lines:
        ours = line["ours"]
        if line["verdict"] != "agrees":
            ours = f"{ours}, {line['verdict']}"
        elif ours == line["source_value"]:
            ours = "same"
        cells = [line["figure"], line["claim"], of_figure[line["figure"]], line["source_value"], ours]
        print(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |")
    for line in lines:
        if line["reason"]:
            print(f"\n`{line['figure']}`: {line['reason']}")
    print("\n## Sources\n")
    used = {of_figure[line["figure"]]: line for line in lines}
    for source, line in used.items():
        year = f" ({line['year']})" if line["year"] else ""
        print(f"- {source}: {line['author']}{year}. {line['place']}.")


def run(program, *arguments):
    return subprocess.run([program, *arguments], check=True, text=True, stdout=subprocess.PIPE).stdout


if __name__ == "__main__":
    with (ROOT / "docs/REPRODUCED.md").open("w") as page:
        sys.stdout = page
        main(sys.argv[1])
