"""Keys of sites that a script starts, made by sluicectl as anybody makes them."""
import os
import subprocess


def public_key(ctl, path):
    """Of the private key in that file, which is made where there is none."""
    beside = path + ".public"
    if not os.path.exists(path):
        run = subprocess.run([ctl, "key", "gen", path], capture_output=True, text=True, check=False)
        if run.returncode != 0:
            raise SystemExit(f"{' '.join(run.args)}: {run.stderr.strip()}")
        with open(beside, "w", encoding="ascii") as file:
            file.write(run.stdout)
    with open(beside, encoding="ascii") as file:
        return file.read().strip()
