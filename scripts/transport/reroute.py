"""The row of paths that become longer: reroutes, behind silences of several kinds.

A cell is one change of one path. A job is *back* where 1 s and 3 s from then on bring 0.9 of what the same job has on a
path that was that long from the start (a reference, one run for all that compare with it), and so does all that comes
after, to 60 s of it."""
from dataclasses import dataclass

from transport.cells import (GBPS, Cell, data_edges, figure, job, limit_bps, link, mean, ms, scenario, series, share)

STEP_S = 0.25
BACK = 0.9
RTT = 0.040
BUFFER = "150ms"
JITTER = {"jitter": 0.004, "loss": 0.002}
# Asked, by strategy: seconds, and the least share of the cells that are back by then; references: the least share of
# their line; None: it is printed.
BACK_ASKED = {"bql": {10: 0.97, 30: 1.0, "references": 0.95}, "scavenger": {60: 0.95, 120: 1.0, "references": None}}
# When the path changes, how long bql is watched from then on, and scavenger: what a job takes costs time to simulate.
WATCHED_S = {20e6: (15, 75, 150), 120e6: (15, 75, 150), GBPS: (14, 32, 62), 10 * GBPS: (13, 12, 12)}


@dataclass(frozen=True)
class Change:
    """The path, and what becomes of it."""
    rate: float
    longer: float          # s, of one way
    ways: str = "both"     # that become longer: there, both
    silence: float = 0.0   # s
    by: str = "outage"     # of both ways; one: of the way there; pause: of the job
    rough: bool = False    # jitter in order, and loss by chance
    relayed: bool = False  # from a to b by way of r: the second path changes
    stream: bool = False   # whose input is more than the path takes

    def path(self):
        """What a reference is for."""
        return (f"{self.rate / 1e6:g}M-{self.ways}{self.longer * 1000:g}" + ("-rough" if self.rough else "")
                + ("-relayed" if self.relayed else "") + ("-stream" if self.stream else ""))

    def name(self):
        return self.path() + (f"-{self.by}{self.silence * 1000:g}" if self.silence else "")


def silences():
    yield 0.0, "outage"
    for silence in (0.045, 0.1, 2.0):
        for by in ("outage", "one", "pause"):
            yield silence, by


def changes(strategy):
    """What is drawn of all combinations: all of the first kind, the others by fewer silences."""
    few = ((0.0, "outage"), (0.1, "outage"), (2.0, "pause"))
    for rate in (20e6, 120e6, GBPS):
        for longer in (0.003, 0.012, 0.040, 0.100):
            for ways in ("there", "both"):
                for rough in (False, True):
                    for silence, by in silences() if strategy == "bql" else few:
                        yield Change(rate, longer, ways, silence, by, rough)
                for silence, by in few[:2]:
                    yield Change(rate, longer, ways, silence, by, relayed=True)
                    if rate < GBPS:
                        yield Change(rate, longer, ways, silence, by, stream=True)
    if strategy == "bql":
        for longer in (0.003, 0.012, 0.040, 0.100):
            for silence in (0.0, 0.1):
                yield Change(10 * GBPS, longer, "both", silence)


def faults(change, at):
    way = ["r", "b"] if change.relayed else ["a", "b"]
    found = []
    if change.silence and change.by == "pause":
        found += [{"at": ms(at), "job": "j-a", "set": {"paused": True}},
                  {"at": ms(at + change.silence), "job": "j-a", "set": {"paused": False}}]
    elif change.silence:
        found += [{"at": ms(at), "link": way, "down": ms(change.silence),
                   **({"symmetric": True} if change.by == "outage" else {})}]
    owd = ms(RTT / 2 + change.longer)
    half = ms(at + change.silence / 2)
    found += [{"at": half, "link": way, "set": {"owd": owd}}]
    if change.ways == "both":
        found += [{"at": half, "link": way[::-1], "set": {"owd": owd}}]
    return found


def values_of(change, options, reference):
    at, bql_s, scavenger_s = WATCHED_S[change.rate]
    after = bql_s if options.congestion == "bql" else scavenger_s
    path = link(change.rate, RTT, queue=BUFFER, **(JITTER if change.rough else {}))
    nodes = ["a", "r", "b"] if change.relayed else ["a", "b"]
    there, back = ("r", "b") if change.relayed else ("a", "b")
    links = {"default": path}
    size = limit_bps(change.rate) / 8 * (at + after) * 1.5
    # A cap would lie: the plan's rate is that of the path, so that the start is over soon.
    values = {} if options.congestion != "bql" else {"start": f"{round(0.98 * change.rate / 1e6)}Mbps"}
    moved = job("a", ["b"], size, options.congestion, start=values.get("start"), at="1s")
    if change.relayed:
        moved["plan"]["tree"] = [["a", "r"], ["r", "b"]]
        moved["to"] = ["r", "b"]
        links = {"default": link(10 * GBPS, 0.002), "list": [{"from": there, "to": back, "symmetric": True, **path}]}
    if change.stream:
        moved = {**{key: value for key, value in moved.items() if key not in ("size", "sparse")}, "object": "stream",
                 "input": {"rate": f"{round(change.rate * 1.5 / 1e6)}Mbps", "duration": f"{at + after}s"},
                 "retention": "24MB"}
    if reference:
        name, found, end = change.path(), [], at + 20
        owd = ms(RTT / 2 + change.longer)
        place = links["list"][0] if change.relayed else path
        place["owd"] = owd
        if change.ways == "there":
            place.pop("symmetric", None)
            behind = {"from": back, "to": there, **place, "owd": ms(RTT / 2)}
            links.setdefault("list", []).append(behind)
    else:
        name, found, end = change.name(), faults(change, at), at + change.silence + after
    return scenario(name, (change.rate, 0.25), nodes, links, [moved], end, measure={"step": ms(STEP_S)},
                    **({"faults": found} if found else {}))


def changed_edge(report):
    return next((edge for edge in data_edges(report) if edge["to"] == "b"), {})


def watched(report):
    return series(changed_edge(report))


def at_the_end(report):
    values = watched(report)
    return [figure("last 10 s Mbit/s", mean(values[-round(10 / STEP_S):]) / 1e6, ">=", None)]


def reroute(options):
    """References first: a cell is judged against one, over all of the row."""
    seen = set()
    found = list(changes(options.congestion))
    for change in found:
        if change.path() not in seen:
            seen.add(change.path())
            yield Cell("long-" + change.path(), values_of(change, options, True), at_the_end, seeds=1,
                       kept=watched)
    for index, change in enumerate(found):
        yield Cell(change.name(), values_of(change, options, False), at_the_end, seeds=1, first_seed=1 + index % 3,
                   kept=watched)


def windows(values, first, seconds):
    return mean(values[first:first + round(seconds / STEP_S)])


def back_s(values, at, reference):
    """Seconds from `at` until the job is back; None: never."""
    first, least = round(at / STEP_S), BACK * reference
    for step in range(first, len(values) - round(3 / STEP_S)):
        if all(windows(values, step, seconds) >= least for seconds in (1, 3)) and \
                windows(values, step, min(60, (len(values) - step) * STEP_S)) >= least:
            return (step - first) * STEP_S
    return None


def reroute_back(cells, options):
    """Shares of the cells that are back in time, as `scripts/bench transport` prints them, and what the references
    take of their line: where that is little a cell is soon back."""
    asked = BACK_ASKED["bql" if options.congestion == "bql" else "scavenger"]
    kept = {name: runs[0].get("kept", []) for name, (runs, _) in cells.items()}
    found, references = [], []
    for name, values in kept.items():
        if name.startswith("long-"):
            continue
        rate = float(name.split("M-")[0]) * 1e6
        reference = next((kept[other] for other in sorted(kept, key=len, reverse=True)
                          if other.startswith("long-") and (name + "-").startswith(other[5:] + "-")), [])
        full = mean(reference[round(WATCHED_S[rate][0] / STEP_S):])
        references += [full / rate] if reference else []
        found.append((name, back_s(values, WATCHED_S[rate][0], full) if full else None))
    told = sorted(found, key=lambda item: -1e9 if item[1] is None else -item[1])
    for name, seconds in told:
        if seconds is None or seconds > 10:
            print(f"     {name:<44} back {'never' if seconds is None else f'after {seconds:g} s'}")
    known = [seconds for _, seconds in found if seconds is not None]
    shares = [figure(f"back within {limit} s", share(sum(seconds <= limit for seconds in known), len(found)), ">=",
                     asked.get(limit)) for limit in (5, 10, 30, 60, 120)]
    least = [figure("references / line", min(references), ">=", asked["references"])] if references else []
    return [*shares, *least] if found else []
