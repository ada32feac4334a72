"""scripts/bench transport --compare BEFORE AFTER: two result files of the table, cell by cell.

A cell newly misses where BEFORE reached what is asked and AFTER does not. A figure loses so much as its worst seed, or the median
of its seeds, is worse: of what BEFORE had where more is better, of what is asked where less is. More than 1 % is told, and what
is won by as much is counted. Cells that one file alone has are counted and not judged.
"""
import json

LOSS_MAX = 0.01


def read(path):
    with open(path, encoding="utf-8") as file:
        document = json.load(file)
    failed = {run["cell"] for run in document["runs"] if run["error"]}
    return document["cells"], failed


def loss(before, after, comparison, limit):
    """How much worse, as a share; below 0: better. A value that is not there is the worst."""
    if before is None or after is None:
        return 0.0 if after is not None or before is None else 1.0
    if comparison == ">=":
        return (before - after) / before if before else 0.0
    scale = limit or before
    return (after - before) / scale if scale else float(after > before)


def compare_figure(before, after):
    """(words, share) of the worse of both: of the worst seed, of the median."""
    asked = (after["comparison"], after["asked"])
    return max(((f"{word} {number(before[key])} -> {number(after[key])}", loss(before[key], after[key], *asked))
                for word, key in (("worst", "value"), ("median", "median"))), key=lambda pair: pair[1])


def number(value):
    return "none" if value is None else f"{value:.4g}"


def compare_cell(before, after):
    """→ [(figure, words, share lost, newly missed)], of the figures that both have."""
    known = {line["figure"]: line for line in before["figures"]}
    found = []
    for line in after["figures"]:
        if line["figure"] in known:
            words, share = compare_figure(known[line["figure"]], line)
            found.append((line["figure"], words, share, known[line["figure"]]["pass"] and not line["pass"]))
    return found


def main(paths):
    (before, _), (after, failed) = read(paths[0]), read(paths[1])
    both = [name for name in after if name in before]
    missing, losing, winning = 0, 0, 0
    for name in both:
        lines = compare_cell(before[name], after[name])
        lost = [line for line in lines if line[2] > LOSS_MAX and not line[3]]
        missed = [line for line in lines if line[3]]
        missing += bool(missed) or name in failed
        losing += bool(lost)
        winning += any(line[2] < -LOSS_MAX for line in lines)
        told = ["a run failed"] if name in failed else []
        told += [f"!{figure} {words}" for figure, words, _, _ in missed]
        told += [f"{figure} {words} ({100 * share:.1f} % lost)" for figure, words, share, _ in lost]
        if told:
            print(f"{'MISS' if missed or name in failed else 'LOSS'} {name:<38} " + ", ".join(told))
    print(f"compare: {len(both)} cells, {missing} newly miss, {losing} lose and {winning} win more than {100 * LOSS_MAX:g} % of a "
          f"figure; {len(before) - len(both)} in BEFORE alone, {len(after) - len(both)} in AFTER alone")
    return 1 if missing or losing else 0
