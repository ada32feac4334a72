"""Appliances on hosts of their own, each with an af_packet port or a UDP socket at a port of sluice-wanem: a WAN of processes
on this machine."""
import os
import subprocess

from bench_lan import Sites, program, write_yaml
from namespaces import ip
from processes import start, stop, wait_for_line


class WanSites(Sites):
    """Sites s0, s1 … of a scenario (names and order), with the ports' rates that it gives as uplink, or those of `rates`."""

    def __init__(self, options, build, directory, lan, scenario, before_wanem=(), of_wanem=(), rates=None):
        super().__init__(options, build, directory, lan)
        self.scenario, self.before_wanem, self.of_wanem, self.emulator = scenario, before_wanem, of_wanem, []
        self.names = list(scenario["nodes"])
        self.rates = rates or {name: {"rate": own["uplink"]} for name, own in scenario["nodes"].items()}

    def __enter__(self):
        for number in range(len(self.names)):
            ip("-n", self.lan.prefix, "link", "set", f"port{number}", "nomaster")
            if self.link == "plain":
                self.plug_kernel(number)
        write_yaml(f"{self.directory}/wan.yaml", self.scenario)
        devices = [word for number, name in enumerate(self.names)
                   for word in ("--device", f"{name}=net_af_packet{number},iface=port{number}")]
        log = os.path.join(self.directory, "wanem.log")
        wanem = start(self.emulator, log, *self.lan.inside_bridge(
            *self.before_wanem, program(self.build, "app/wanem/sluice-wanem"), "-c", f"{self.directory}/wan.yaml", *devices, *self.of_wanem,
            "--json", f"{self.directory}/wanem.json"))
        try:
            wait_for_line(wanem, log, "sluice-wanem: ready")
            return super().__enter__()
        except BaseException:
            stop(self.emulator)
            raise

    def plug_kernel(self, number):
        """The emulator is that kernel's router. A veth would hand af_packet datagrams without checksums, and uncut."""
        host = self.lan.namespace(number)
        ip("-n", host, "address", "replace", f"10.66.{number + 1}.1/24", "dev", "eth1")
        ip("-n", host, "route", "replace", "default", "via", f"10.66.{number + 1}.254")
        subprocess.run(self.lan.inside(number, "ethtool", "-K", "eth1", "tx", "off"), check=True, capture_output=True)

    def __exit__(self, *_):
        super().__exit__()
        stop(self.emulator)

    def node_file(self, number, name):
        values = super().node_file(number, name)
        own = f"10.66.{number + 1}"
        address = {"address": f"{own}.1"} if self.link == "plain" else {"address": f"{own}.1/24", "gateway": f"{own}.254"}
        values["ports"][0].update({**address, **self.rates[name]})
        others = [index for index in range(len(self.names)) if index != number]
        for peer, index in zip(values["peers"], others):
            peer["address"] = f"10.66.{index + 1}.1"
        return values
