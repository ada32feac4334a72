"""Cells of scripts/bench probe again through whole nodes: sluice-sim, where the trains are packets of the wire and their records
come from a report. One run of the simulator is one measurement; its figures are named as those of sluice-probe."""
import json
import subprocess
import sys
import tempfile

ASK_S = 3 # beyond a hello or two that are lost: a peer that is not up has no path to be measured
RUN_S = 600
SCENARIO = """
name: bench-probe
nodes:
  sender: {{uplink: 40Gbps{sender}}}
  receiver: {{downlink: 10Gbps{queue}{cross}, watch: 10s{receiver}}}
links: {{default: {{owd: {owd}{link}}}}}
probe: {{self_test: early, until: {until}, period: {period}, bytes: {bytes}, width: {width}, ask: [{{from: sender, to: receiver, at: {at}s}}]}}
"""
# What ends and paths of T4 add: to each stamp, to each packet.
SENDER_ENDS = ", stamps: {noise: 100ns}"
RECEIVER_ENDS = ", clock: {skew: 100ppm}, stamps: {batch: 32, batch_timeout: 50us, noise: 100ns}"
LOSSY = ", loss: 1%, delay_some: {p: 5%, by: 50us}"
# Four hosts, one object to all, with background measurements of all pairs and without.
JOB = """
name: bench-probe-job
node_defaults: {uplink: 1Gbps, downlink: 1Gbps, queue: 10ms}
nodes: [a, b, c, d]
links: {default: {owd: 10ms}}
jobs: [{name: data, source: a, to: all, size: 500MB, at: 12s, plan: {metric: rtt}, sparse: true, hash: none}]
limit: 120s
"""
BACKGROUND = "probe: {background: on}\n"


def scenario(owd, cross, period="0s", size="1500KB", width="0.5%", queue=None, ends=False):
    sender, receiver, link = (SENDER_ENDS, RECEIVER_ENDS, LOSSY) if ends else ("", "", "")
    return SCENARIO.format(owd=owd, sender=sender, receiver=receiver, link=link, period=period, bytes=size, width=width, at=ASK_S, until="4500ms" if period == "0s" else "6500ms",
                           queue=f", queue: {queue}" if queue else "",
                           cross=f", downlink_cross: [{cross}]" if cross else "")


def simulate(program, path, seed):
    run = subprocess.run([program, path, "--json", "--seed", str(seed)], capture_output=True, text=True, timeout=RUN_S, check=False)
    if not run.stdout:
        sys.exit(f"bench: {program} {path}:\n{run.stderr[-2000:]}")
    return json.loads(run.stdout)


def measure(program, path, seed):
    return simulate(program, path, seed)["probes"][0]


def quantile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else None


def pooled(probes):
    values = [probe for probe in probes if probe["kind"] == "value"]
    errors = [(probe["avail_bps"] - probe["truth_bps"]) / probe["tight_bps"] for probe in values]
    count = len(values)
    figures = {"runs": len(probes), "share_value": count / len(probes),
               "took_s_p95": quantile([probe["known_s"] - ASK_S for probe in probes], 0.95),
               "bytes_max": max(probe["bytes"] for probe in probes), "error_p_bias": None, "error_p_within_005": None,
               "error_p_within_010": None, "covers_p": None, "half_width": None}
    if count > 0:
        held = sum(probe["low_bps"] <= probe["truth_bps"] <= probe["high_bps"] for probe in values)
        width = sum((probe["high_bps"] - probe["low_bps"]) / 2 / probe["tight_bps"] for probe in values)
        figures.update(error_p_bias=sum(errors) / count, covers_p=held / count, half_width=width / count,
                       error_p_within_005=sum(abs(error) <= 0.005 for error in errors) / count,
                       error_p_within_010=sum(abs(error) <= 0.01 for error in errors) / count)
    return figures


def with_seeds(text, runs, of_seed):
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        file.write(text)
        file.flush()
        return [of_seed(file.name, seed) for seed in range(1, runs + 1)]


def run(program, text, runs):
    """Figures of so many seeds."""
    return pooled(with_seeds(text, runs, lambda path, seed: measure(program, path, seed)))


def jobs(program, text, runs):
    """Goodput beside background measurements over that without them."""
    def goodput(path, seed):
        return simulate(program, path, seed)["jobs"][0]["goodput_bps"]
    alone, beside = (with_seeds(one, runs, goodput) for one in (text, text + BACKGROUND))
    return {"runs": runs, "goodput_ratio_min": min(with_it / without for with_it, without in zip(beside, alone))}
