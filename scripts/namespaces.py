"""Network namespaces joined by a bridge: several hosts on this machine, which are gone when the program ends."""
import contextlib
import ctypes
import subprocess

CLONE_NEWNET = 0x40000000


def ip(*words):
    subprocess.run(["ip", *words], check=True, capture_output=True, text=True)


class Lan:
    """Hosts 0 … count - 1, each in a namespace of its own with one interface, eth1, at a bridge in yet another one."""

    def __init__(self, count, prefix, mtu=1500):
        self.prefix, self.count, self.mtu = prefix, count, mtu

    def __enter__(self):
        try:
            ip("netns", "add", self.prefix)
            ip("-n", self.prefix, "link", "add", "bridge0", "type", "bridge")
            ip("-n", self.prefix, "link", "set", "bridge0", "up")
            for number in range(self.count):
                self._plug(number)
        except BaseException as error:
            self.__exit__()
            if isinstance(error, subprocess.CalledProcessError):
                raise PermissionError(error.stderr.strip() or "ip netns failed") from error
            raise
        return self

    def _plug(self, number):
        name = self.namespace(number)
        ip("netns", "add", name)
        ip("-n", self.prefix, "link", "add", f"port{number}", "type", "veth", "peer", "name", "eth1", "netns", name)
        ip("-n", self.prefix, "link", "set", f"port{number}", "mtu", str(self.mtu), "master", "bridge0", "up")
        subprocess.run(self.inside(number, "sysctl", "-qw", "net.ipv6.conf.all.disable_ipv6=1"), check=False)
        ip("-n", name, "link", "set", "lo", "up")
        ip("-n", name, "link", "set", "eth1", "mtu", str(self.mtu), "up")

    def give_addresses(self, network):
        """Each host gets one of the network, "10.67.0", of its own kernel's: number + 1."""
        for number in range(self.count):
            ip("-n", self.namespace(number), "address", "add", f"{network}.{number + 1}/24", "dev", "eth1")

    def limit(self, rate, burst):
        """No more than that rate, as tc writes it, out of each host, as by the line of a site, behind its NIC."""
        for number in range(self.count):
            subprocess.run(self.inside(number, "tc", "qdisc", "replace", "dev", "eth1", "root", "tbf", "rate", rate,
                                       "burst", burst, "latency", "50ms"), check=True)

    def __exit__(self, *_):
        for number in range(self.count):
            subprocess.run(["ip", "netns", "delete", self.namespace(number)], check=False, capture_output=True)
        subprocess.run(["ip", "netns", "delete", self.prefix], check=False, capture_output=True)

    def namespace(self, number):
        return f"{self.prefix}-{number}"

    def inside(self, number, *command):
        """The command, as run on that host."""
        return ["ip", "netns", "exec", self.namespace(number), *command]

    def inside_bridge(self, *command):
        """… and where the bridge is."""
        return ["ip", "netns", "exec", self.prefix, *command]

    @contextlib.contextmanager
    def ports(self):
        """A function that gives the bytes which went to each host so far; for the thread that calls this."""
        libc = ctypes.CDLL(None, use_errno=True)
        with open("/proc/thread-self/ns/net", "rb") as home, open(f"/run/netns/{self.prefix}", "rb") as bridge:
            if libc.setns(bridge.fileno(), CLONE_NEWNET) != 0:
                raise OSError(ctypes.get_errno(), "setns")
            try:
                yield self._read_ports
            finally:
                libc.setns(home.fileno(), CLONE_NEWNET)

    def _read_ports(self):
        with open("/proc/thread-self/net/dev", encoding="ascii") as file:
            lines = dict(line.split(":") for line in file if ":" in line)
        fields = {name.strip(): value.split() for name, value in lines.items()}
        return [int(fields[f"port{number}"][8]) for number in range(self.count)]
