# SPDX-License-Identifier: BSD-3-Clause
"""Reads a trace as a viewer would, and holds it against what the job did.

trace.py whole FILE RANKS CALLS [LATE]   every rank has CALLS collectives; in each other rank the longest wait is for LATE
trace.py torn FILE RANKS                 the files' array has events of so many ranks
trace.py rank FILE                       one rank's file, with its end or without
"""
import json
import sys


def fail(*what):
    sys.exit(" ".join(str(w) for w in what))


def load(path, may_lack_end=False):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    if may_lack_end and not text.rstrip().endswith("]"):
        text += "]"
    return json.loads(text)


def check_events(events):
    for event in events:
        if event["ph"] not in "MXbei" or not isinstance(event["pid"], int) or not isinstance(event["tid"], int):
            fail("not an event:", event)
        if event["ph"] != "M" and not isinstance(event["ts"], float):
            fail("no time:", event)
        if event["ph"] == "X" and event["dur"] < 0:
            fail("it ends before it begins:", event)


def of_rank(events, rank, category):
    return [e for e in events if e["pid"] == rank and e.get("cat") == category]


def whole(path, ranks, calls, late):
    events = load(path)
    check_events(events)
    clock = {e["pid"]: e["args"] for e in events if e["name"] == "mpinpu_clock"}
    spans = []
    for rank in range(ranks):
        made = of_rank(events, rank, "collective")
        done = [(e["ts"], e["ts"] + e["dur"]) for e in made if e["ph"] == "X"]
        begun = {e["id2"]["local"]: e["ts"] for e in made if e["ph"] == "b"}
        ended = {e["id2"]["local"]: e["ts"] for e in made if e["ph"] == "e"}
        if begun.keys() != ended.keys():
            fail("rank", rank, "began", begun, "and ended", ended)
        done += [(begun[i], ended[i]) for i in begun]
        if len(done) != calls:
            fail("rank", rank, "has", len(done), "collectives, not", calls)
        spans.append(sorted(done))
        for e in made:
            what = e["args"]
            if what["datatype"] != "float64" or what["op"] != "sum" or what["communicator"] != "the late ones":
                fail("not what was called:", e)
            if e["ph"] != "b" and (what["engine"] != "host" or what["why"] != "engine" or "algorithm" not in what):
                fail("not how it was done:", e)
        waits = [e for e in of_rank(events, rank, "wait") if e["ph"] == "X"]
        for e in waits:
            if not any(b <= e["ts"] and e["ts"] + e["dur"] <= t for b, t in done):
                fail("a wait outside of a collective:", e)
        # The ranks of the communicator are those of the job backwards.
        if late is not None and rank != ranks - 1 - late:
            longest = max(waits, key=lambda e: e["dur"])
            if longest["args"]["rank"] != late:
                fail("rank", rank, "waits longest for rank", longest["args"]["rank"])
    # Nobody ends an allreduce before all have begun it.
    error = 2 * max(c["uncertainty_ns"] for c in clock.values()) / 1000
    for i in range(calls):
        if min(s[i][1] for s in spans) + error < max(s[i][0] for s in spans):
            fail("collective", i, "has", [s[i] for s in spans], "and clocks", clock)
    if not clock.keys() >= set(range(ranks)) or any(c["clock"] == "not measured" for c in clock.values()):
        fail("clocks:", clock)
    print("clocks:", {r: (c["clock"], c["offset_ns"], c["uncertainty_ns"]) for r, c in sorted(clock.items())})


def torn(path, ranks):
    events = load(path)
    check_events(events)
    seen = {e["pid"] for e in events if e.get("cat") == "collective"}
    if len(seen) != ranks:
        fail("collectives of ranks", seen)


def main():
    what, path = sys.argv[1:3]
    if what == "whole":
        whole(path, int(sys.argv[3]), int(sys.argv[4]), int(sys.argv[5]) if len(sys.argv) > 5 else None)
    elif what == "torn":
        torn(path, int(sys.argv[3]))
    else:
        check_events(load(path, may_lack_end=True))


main()
