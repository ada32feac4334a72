"""Huge pages of 2 MiB for the time of a measurement or a test."""
import contextlib

RESERVED = "/proc/sys/vm/nr_hugepages"


def free():
    with open("/proc/meminfo", encoding="ascii") as file:
        lines = dict(line.split(":") for line in file)
    return int(lines["HugePages_Free"]) if "2048 kB" in lines["Hugepagesize"] else 0


def reserve(count):
    """That many more, or fewer; how many it became. Where others do the same, theirs stay."""
    with open(RESERVED, "r+", encoding="ascii") as file:
        before = int(file.read())
        file.seek(0)
        file.write(str(max(before + count, 0)))
        file.flush()
        file.seek(0)
        return int(file.read()) - before


@contextlib.contextmanager
def reserved(count):
    """Whether so many are free: those that are lacking are reserved where that is permitted, and given back at the end."""
    more, lacking = 0, count - free()
    if lacking > 0:
        with contextlib.suppress(OSError):  # not permitted
            more = reserve(lacking)
    try:
        yield free() >= count
    finally:
        if more > 0:
            reserve(-more)
