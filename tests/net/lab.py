"""Network namespaces with appliances in them: what the tests of this folder stand on.

Every test runs in a namespace of its own (enter_namespace), and every appliance on af_packet in another one, as on a
machine of its own; a veth pair joins the two. The test asks the appliances' control sockets for counters. Processes
are ended by their own pid on every way out.

A namespace per appliance, because af_packet's fanout groups have ids made of process id and interface index that must
differ within one: two appliances in one namespace now and then can't start (lib/dpdk/fanout.h)."""

import atexit
import contextlib
import ctypes
import fcntl
import functools
import json
import os
import random
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import traceback

ETH_P_ALL = 3
CLONE_NEWNET = 0x40000000
SIOCETHTOOL, ETHTOOL_STXCSUM = 0x8946, 0x17
SKIPPED = 77
WAIT_S = 60.0  # for what happens within milliseconds: only a fault waits as long
FANOUT_TAKEN = "the kernel refused its fanout group"
STARTS_MAX = 5
PLAIN = os.environ.get("SLUICE_TEST_LINK") == "plain"  # ports are UDP sockets of the kernel (lib/udp)
FRAMES_AT_ONCE = 200  # the ring of af_packet holds 512: more get lost while the appliance has no CPU


def enter_namespace():
    """Starts this program again inside a new network namespace; exit status 77 where that is not permitted."""
    if os.environ.get("SLUICE_TEST_NAMESPACE") == "1":
        subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
        return
    environment = {**os.environ, "SLUICE_TEST_NAMESPACE": "1"}
    for command in (["unshare", "--net"], ["unshare", "--map-root-user", "--net"]):
        probe = subprocess.run([*command, "ip", "link", "add", "probe0", "type", "veth", "peer", "name", "probe1"],
                               capture_output=True, check=False)
        if probe.returncode == 0:
            os.execvpe(command[0], [*command, sys.executable, *sys.argv], environment)
    print("skipped: no permission to make a network namespace with veth interfaces")
    sys.exit(SKIPPED)


def run(*command):
    subprocess.run(command, check=True, capture_output=True)


def quiet(interface):
    """No traffic but ours: neither ND nor MLD of the kernel."""
    try:
        with open(f"/proc/sys/net/ipv6/conf/{interface}/disable_ipv6", "w", encoding="ascii") as file:
            file.write("1")
    except OSError:
        pass  # the interface is then merely noisier
    run("ip", "link", "set", interface, "arp", "off", "multicast", "off")


def setns(file):
    if ctypes.CDLL(None, use_errno=True).setns(file.fileno(), CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "setns")


class Namespace:
    """A new network namespace. It lasts as long as this object, or a process in it."""

    def __init__(self):
        self.home = open("/proc/thread-self/ns/net", "rb")
        if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), "unshare")
        self.file = open("/proc/thread-self/ns/net", "rb")
        setns(self.home)

    @contextlib.contextmanager
    def inside(self):
        """This thread, and what it starts meanwhile, is in the namespace."""
        setns(self.file)
        try:
            yield
        finally:
            setns(self.home)


def veth(inner, outer, mtu=1500):
    """A pair of interfaces, `outer` here and `inner` in a new namespace, which it returns."""
    namespace = Namespace()
    run("ip", "link", "add", outer, "type", "veth", "peer", "name", inner)
    run("ip", "link", "set", inner, "netns", f"/proc/{os.getpid()}/fd/{namespace.file.fileno()}")
    quiet(outer)
    run("ip", "link", "set", outer, "mtu", str(mtu), "up")
    with namespace.inside():
        quiet(inner)
        run("ip", "link", "set", inner, "mtu", str(mtu), "up")
    return namespace


def port(name, address, **more):
    """Of an appliance on NAME0, at 1 Gbit/s: af_packet, or, where all tests of this run are plain, a socket."""
    own = {"address": address} if PLAIN else {"device": f"net_af_packet0,iface={name}0", "address": address + "/24"}
    return {**own, "rate": "1Gbps", **more}


def offload_nothing(interface):
    """Datagrams have their checksums, and are cut, before they are on the wire; else a veth and a bridge pass them on as they
    are (ethtool -K INTERFACE tx off)."""
    value = ctypes.create_string_buffer(struct.pack("=II", ETHTOOL_STXCSUM, 0))
    request = struct.pack("16sP16x", interface.encode(), ctypes.addressof(value))
    with socket.socket() as any_socket:
        fcntl.ioctl(any_socket, SIOCETHTOOL, request)


def give_address(name, address, offload=False):
    """The kernel of the namespace that this thread is in has it, at NAME0; its neighbours are found by ARP."""
    if not offload:
        offload_nothing(f"{name}0")
    run("ip", "link", "set", "lo", "up")
    run("ip", "link", "set", f"{name}0", "arp", "on")
    run("ip", "address", "replace", address + "/24", "dev", f"{name}0")


class Bridge:
    """A switch. NAME0 is what an appliance gets, in a namespace of its own, NAME1 the end at the switch. The switch
    drops frames that are shorter than their IP header says; what is sent out of NAME1 does not pass it."""

    def __init__(self, mtu=1500):
        self.mtu = mtu
        run("ip", "link", "add", "bridge0", "type", "bridge")
        quiet("bridge0")
        run("ip", "link", "set", "bridge0", "mtu", str(mtu), "up")

    def plug(self, name):
        namespace = veth(f"{name}0", f"{name}1", self.mtu)
        run("ip", "link", "set", f"{name}1", "master", "bridge0")
        return namespace


def wait_until(what, condition, seconds=WAIT_S):
    limit = time.monotonic() + seconds
    while time.monotonic() < limit:
        if condition():
            return
        time.sleep(0.02)
    raise AssertionError(f"{what}: not within {seconds:.0f} s")


class Wire:
    """Raw frames on one interface."""

    def __init__(self, interface):
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 64 << 20)
        self.socket.bind((interface, 0))

    def send(self, frame):
        self.socket.send(bytes(frame))

    def receive(self, wanted, seconds=WAIT_S):
        """The first incoming frame for which wanted(frame) is true; None after so many seconds."""
        limit = time.monotonic() + seconds
        while (left := limit - time.monotonic()) > 0:
            self.socket.settimeout(left)
            try:
                frame, address = self.socket.recvfrom(65536)
            except TimeoutError:
                return None
            if address[2] != socket.PACKET_OUTGOING and wanted(frame):
                return frame
        return None

    def drain(self):
        self.socket.setblocking(False)
        try:
            while True:
                self.socket.recv(65536)
        except BlockingIOError:
            pass


class Process:
    """A program whose output goes to a log; ends with this one."""

    def __init__(self, command, log):
        self.log = log
        with open(log, "w", encoding="utf-8") as file:
            self.process = self.launch(command, stdout=file, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
        atexit.register(self.stop)

    def launch(self, command, **options):
        return subprocess.Popen(command, **options)

    def text(self):
        with open(self.log, encoding="utf-8", errors="replace") as file:
            return file.read()

    def says(self, text):
        return text in self.text()

    def ended(self):
        return self.process.poll() is not None

    def stop(self):
        """Exit status; a process that does not end by itself is killed."""
        if not self.ended():
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(WAIT_S)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        return self.process.returncode


class StartFailed(AssertionError):
    def __init__(self, appliance):
        super().__init__(f"{' '.join(appliance.process.args)} ended at once, start {appliance.starts}:\n"
                         f"{appliance.text()[-2000:]}")
        self.status = appliance.process.returncode


def make_key(ctl, directory, name):
    """The private key of the appliance of that name and directory, which is not there yet. Returns the public one."""
    path = os.path.join(directory, name, "key")
    out = subprocess.run([ctl, "--json", "key", "gen", path], capture_output=True, text=True, check=True)
    return json.loads(out.stdout)["key"]


@functools.lru_cache(maxsize=None)
def key_of(program, directory, name):
    """The same, made once."""
    return make_key(os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(program))), "ctl", "sluicectl"),
                    directory, name)


class Appliance(Process):
    """A `sluice` that is ready; in the namespace given, else in this one. Peers whose keys are not told have those of
    their names in that directory; insecure: nobody has one."""

    def __init__(self, program, directory, name, config, namespace=None, insecure=False):
        self.namespace = namespace
        self.starts = 0
        if PLAIN and namespace is not None:
            with namespace.inside():
                for own in config["ports"]:
                    give_address(name, own["address"])
        self.home = os.path.join(directory, name)
        self.incoming = os.path.join(self.home, "incoming")
        self.ring = os.path.join(self.home, "ring")
        self.socket_path = os.path.join(self.home, "sock")
        key_file = os.path.join(self.home, "key")
        if not insecure and not os.path.exists(key_file):
            key_of(program, directory, name)
        os.makedirs(self.incoming)
        config = {
            "node": {"name": name, **({"insecure": "benchmark"} if insecure else {"key_file": key_file})},
            "directories": [{"name": "incoming", "path": self.incoming, "sources": "any"}],
            "memory": {"hugepages": False, "buffer": "64MiB"},
            "control": {"socket": self.socket_path, "ring": self.ring},
            "planner": "off",
            **config,
        }
        if not insecure:
            config["peers"] = [peer if "key" in peer else {**peer, "key": key_of(program, directory, peer["name"])}
                               for peer in config["peers"]]
        path = os.path.join(self.home, "node.yaml")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(config, file)  # JSON is YAML
        self.name = name
        self.command = [program, "-c", path]
        self.start()

    def start(self):
        """Also after kill()."""
        while True:
            self.starts += 1
            super().__init__(self.command, os.path.join(self.home, "log"))
            wait_until(f"{self.name} ready", lambda: self.says(f"sluice: {self.name} ready") or self.ended())
            if not self.ended():
                return
            if not self.says(FANOUT_TAKEN) or self.starts >= STARTS_MAX:
                raise StartFailed(self)

    def kill(self):
        """Nobody hears a farewell."""
        self.process.kill()
        self.process.wait()

    def launch(self, command, **options):
        with self.namespace.inside() if self.namespace else contextlib.nullcontext():
            return super().launch(command, **options)

    def ask(self, **request):
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(WAIT_S)
            connection.connect(self.socket_path)
            connection.sendall(json.dumps(request).encode() + b"\n")
            reply = connection.makefile(encoding="utf-8").readline()
        reply = json.loads(reply)
        assert reply["ok"], reply
        return reply.get("text", "")

    def show(self, what):
        return json.loads(self.ask(command="show", what=what, json=True))

    def counters(self):
        """All counters by name, those of the port as port.NAME."""
        found = {f"port.{name}": value for name, value in self.show("ports")["ports"][0].items()
                 if isinstance(value, int) and name.startswith(("rx_", "tx_"))}
        found.update(flatten(self.show("counters")))
        return found


def planner_of(program, appliance):
    """A planner that is attached."""
    planner = Process([program, "--ring", appliance.ring], os.path.join(appliance.home, "planner.log"))
    wait_until(f"the planner of {appliance.name}", lambda: appliance.show("plan")["planner_attached"])
    return planner


def flatten(document):
    """The numbers of `show counters`, wherever they stand in it."""
    found = {}
    for name, value in document.items():
        if isinstance(value, dict):
            found.update(flatten(value))
        elif isinstance(value, int) and not isinstance(value, bool):
            found[name] = value
    return found


def dropped(before, after):
    """Drop counters that changed: name → by how much."""
    return {name: value - before.get(name, 0) for name, value in after.items()
            if "drop_" in name and not name.startswith("port.tx_") and value != before.get(name, 0)}


# Every datagram that reaches a node is one of these, or one drop.
USED = ("rx_data", "rx_pieces", "rx_acks", "rx_messages", "rx_handshakes", "rx_hellos", "rx_probes", "rx_probe_replies",
        "rx_closes", "symbols_repeated")


def unaccounted(before, after):
    """Frames and datagrams that no counter speaks of, as two numbers; both ought to be 0."""
    gain = {name: after[name] - before.get(name, 0) for name in after}
    drops = {name: value for name, value in gain.items() if "drop_" in name}
    frames = (gain["port.rx_packets"] - gain["port.rx_datagrams"] - gain["port.rx_answered"] -
              gain["port.rx_neighbours"] - sum(value for name, value in drops.items() if name.startswith("port.rx_")))
    datagrams = (gain["rx_datagrams"] - sum(gain[name] for name in USED) -
                 sum(value for name, value in drops.items() if not name.startswith("port.")))
    return frames, datagrams


class Pair:
    """A source, its planner and a target; device(name) and namespace(name) say how each is joined to the other; device
    None: as `port` has it.
    `config` goes to both appliances, of which the target starts first where it is the one that the other needs to be
    there. key(name): what the other one expects, of a directory in which keys were made; insecure: they have none."""

    ADDRESSES = {"source": "10.9.0.1", "target": "10.9.0.2"}

    def __init__(self, programs, mtu, device, namespace=lambda name: None, target_first=False, directory=None,
                 key=None, insecure=False, **config):
        program, planner = programs
        self.directory = directory or temporary_directory()
        self.sites = {}
        for name, address in sorted(self.ADDRESSES.items(), reverse=target_first):
            own = device(name) if device else None
            self.sites[name] = Appliance(program, self.directory, name, {
                "ports": [port(name, address, mtu=mtu) if device is None else
                          {**({"device": own} if own else {}), "address": address + "/24", "rate": "1Gbps", "mtu": mtu}],
                "peers": [{"name": other, "address": self.ADDRESSES[other], **({"key": key(other)} if key else {})}
                          for other in self.ADDRESSES if other != name],
                **config,
            }, namespace(name), insecure)
        self.source, self.target = self.sites["source"], self.sites["target"]
        self.planner = planner_of(planner, self.source)

    def send(self, count, rate):
        """A file of so many bytes; it has arrived and is the same."""
        content = random.Random("pair").randbytes(count)
        path = os.path.join(self.directory, "big")
        with open(path, "wb") as file:
            file.write(content)
        text = f"name: big\nsource: source\nto: all\nfile: {path}\ndirectory: incoming\nrate: {rate}\n"
        self.source.ask(command="job run", path=os.path.join(self.directory, "job.yaml"), text=text)
        wait_until("the job", lambda: self.job()["state"] in ("done", "failed", "cancelled"))
        assert self.job()["state"] == "done", self.job()
        with open(os.path.join(self.target.incoming, "big"), "rb") as file:
            assert file.read() == content, "the copy differs"

    def job(self):
        return self.source.show("jobs")["jobs"][0]

    def end(self):
        self.planner.stop()
        for name, appliance in self.sites.items():
            status = appliance.stop()
            assert status == 0, f"{name}: exit status {status}:\n{appliance.text()[-1500:]}"


def temporary_directory():
    directory = tempfile.mkdtemp(prefix="sluice-net-")
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    return directory


def run_cases(cases, *arguments):
    """Each case is a function; prints what scripts/count-results counts. Returns the exit status."""
    failures = []
    for case in cases:
        try:
            case(*arguments)
            print(f"ok   {case.__name__}")
        except AssertionError as error:
            where = traceback.extract_tb(error.__traceback__)[1]  # in the case itself
            print(f"FAIL {case.__name__}, line {where.lineno}: {error or where.line}")
            failures.append(case.__name__)
        sys.stdout.flush()
    print(f"[  PASSED  ] {len(cases) - len(failures)} test(s).")
    if failures:
        print(f"[  FAILED  ] network tests: {len(failures)} test(s), listed below:\n" + "\n".join(failures))
    return 1 if failures else 0
