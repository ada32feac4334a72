"""The part `files` of scripts/bench: many small files against one file of the same size, on the same disk, each as one
job from one node to another over memif (two processes), SHA-256 on.

Inodes: targets lie in a directory that ext4 spreads (chattr +T), so each gets a group of its own. An ext4 without journal
takes no inode that was freed within the last 1 to 5 minutes and looks at every one of them for each new file: beside what
other programs have just removed, creating takes 90-340 us in place of some 20.

Rates are object bytes by the whole time from the order to the receiver's word that all of it is verified, in place and,
with `durable: end` as is the default of jobs, on the disk (one syncfs for a directory, one fsync for a file). So walking
the tree and making its index count as well. Files and the one file take turns, and the ratio of each pair is kept: other
work on the machine meets both. Caches are what they are after writing the sources: warm.
"""
import os
import resource
import statistics
import subprocess
import tempfile
import time

COUNT, BYTES = 100_000, 10_000
SHARE_MIN = 0.60
PER_DIRECTORY = 1000
THREADS = 2


def spread(folder):
    """What is made in the folder goes to groups of its own where the filesystem is an ext4; elsewhere nothing changes."""
    subprocess.run(["chattr", "+T", folder], stderr=subprocess.DEVNULL, check=False)


def make_sources(folder, count):
    """Content that is different in every file and has no zeros to leave out."""
    tree, whole = os.path.join(folder, "tree"), os.path.join(folder, "whole.bin")
    noise = os.urandom(1 << 20)
    with open(whole, "wb") as file:
        for number in range(count):
            at = number * 997 % (len(noise) - BYTES)
            content = number.to_bytes(8, "big") + noise[at:at + BYTES - 8]
            below = os.path.join(tree, f"{number // PER_DIRECTORY:04d}")
            if number % PER_DIRECTORY == 0:
                os.makedirs(below)
            with open(os.path.join(below, f"{number:06d}.dat"), "wb") as small:
                small.write(content)
            file.write(content)
    os.sync()
    return tree, whole


def same_content(tree, copy):
    """Compares every file; the number of them."""
    count = 0
    for folder, _, names in os.walk(tree):
        for name in names:
            path = os.path.join(folder, name)
            with open(path, "rb") as one, open(os.path.join(copy, os.path.relpath(path, tree)), "rb") as other:
                if one.read() != other.read():
                    return 0
            count += 1
    return count


def cpu_seconds():
    """Of all processes that were run so far and have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def copied_by_cp(sources, folder):
    """Seconds that cp and sync take for each: what the filesystem alone makes of many files."""
    seconds = []
    for source in sources:
        target = tempfile.mkdtemp(dir=folder, prefix="target-")
        begin = time.monotonic()
        subprocess.run(["cp", "-r", "--reflink=never", source, target], check=True)
        subprocess.run(["sync", "-f", target], check=True)
        seconds.append(round(time.monotonic() - begin, 3))
    return seconds


def run_once(bench, source, folder, durable):
    """Into a directory of its own, which stays until the end: see above on inodes."""
    target = tempfile.mkdtemp(dir=folder, prefix="target-")
    os.sync()
    arguments = ["goodput", "--link", "memif", "--source", source, "--directory", target, "--sha256", "--idle", "sleep",
                 "--threads", str(THREADS)]
    before = cpu_seconds()
    result = bench(*arguments, *(["--durable"] if durable else []))
    result["cpu_s"] = round(cpu_seconds() - before, 2)
    result["target"] = target
    result["job_bps"] = round(result["bytes"] * 8 / result["job_seconds"])
    return result


def row(bench, sources, folder, durable, runs):
    """Pairs of runs in turn; the share of a pair is taken between neighbours."""
    pairs = []
    for _ in range(runs):
        pairs.append([run_once(bench, source, folder, durable) for source in sources])
    shares = [files["job_bps"] / whole["job_bps"] for files, whole in pairs]
    middle = sorted(range(runs), key=lambda index: shares[index])[(runs - 1) // 2]
    files, whole = pairs[middle]
    return {"durable": "end" if durable else "none", "files_bps": files["job_bps"], "file_bps": whole["job_bps"],
            "files_s": files["job_seconds"], "file_s": whole["job_seconds"], "files_cpu_s": files["cpu_s"],
            "file_cpu_s": whole["cpu_s"], "share": round(statistics.median(shares), 3), "shares": [round(share, 3) for share in shares],
            "dpdk": files["dpdk"]}


def part(bench, table, options):
    count = COUNT // 10 if options.quick else COUNT
    results = []
    with tempfile.TemporaryDirectory(prefix="sluice-bench-", dir=os.environ.get("BENCH_DIRECTORY")) as folder:
        spread(folder)
        sources = make_sources(folder, count)
        for durable in (True, False):
            results.append(row(bench, sources, folder, durable, options.runs))
        by_cp = copied_by_cp(sources, folder)
        last = run_once(bench, sources[0], folder, False)
        compared = same_content(sources[0], os.path.join(last["target"], "bench.out"))
    table([[result["durable"], f"{result['files_bps'] / 1e9:.2f}", f"{result['file_bps'] / 1e9:.2f}", result["files_s"],
            result["file_s"], result["files_cpu_s"], result["file_cpu_s"], result["share"],
            " ".join(str(share) for share in result["shares"])]
           for result in results],
          ["durable", "files Gbit/s", "file Gbit/s", "files s", "file s", "CPU s", "CPU s", "share", "of each pair"])
    share = results[0]["share"]
    missed = [] if compared == count else [f"{compared} of {count} files arrived as they were"]
    if share < SHARE_MIN:
        missed.append(f"{share:.2f} of one file's rate, {SHARE_MIN} asked")
    print(f"cp -r and sync of the same: files {by_cp[0]} s, file {by_cp[1]} s, share {by_cp[1] / by_cp[0]:.2f}")
    print(f"{count} files of {BYTES} bytes, all compared; {options.runs} pairs; caches warm")
    return results, f"files: {share:.2f} of one file's rate (durable), {results[1]['share']:.2f} without fsync", missed
