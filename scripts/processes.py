"""Processes of a bench: started with a log each, waited for, ended."""
import subprocess
import sys
import time

START_S = 30


def wait_for_line(process, log, line):
    limit = time.monotonic() + START_S
    while time.monotonic() < limit and process.poll() is None:
        with open(log, encoding="utf-8", errors="replace") as file:
            if line in file.read():
                return
        time.sleep(0.05)
    with open(log, encoding="utf-8", errors="replace") as file:
        sys.exit(f"bench: no '{line}':\n{file.read()[-2000:]}")


def start(processes, log, *command):
    with open(log, "w", encoding="utf-8") as file:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT)
    processes.append(process)
    return process


def stop(processes):
    """The emulator, which was first, last: it is the server of every memif."""
    for process in reversed(processes):
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
