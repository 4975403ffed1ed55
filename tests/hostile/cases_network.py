"""Section 8 of the acceptance list: the network (N). The proxy's cases are in test_network.py."""

from __future__ import annotations

from tests.hostile.attack import Case, Evidence, hit, python
from tests.hostile.house import House


def arrived(name: str) -> Evidence:
    """Evidence that a datagram reached the host's socket of that name."""

    def check(house: House, text: str) -> bool:
        return house.received(name)

    return check


def knocked(house: House, text: str) -> bool:
    """Somebody outside could connect to a port that the command had opened."""
    found = house.knocked.is_set()
    house.knocked.clear()
    return found


def connects(family: str, address: str, kind: str = "SOCK_STREAM") -> str:
    return python(f"""
        try:
            client = socket.socket(socket.{family}, socket.{kind})
            client.connect({address})
            hit(client)
        except OSError as error: print(error)
    """)


CASES = (
    Case(
        "N01", "connect to a TCP port of the host by 127.0.0.1", hit(": </dev/tcp/127.0.0.1/@TCP@")
    ),
    Case("N02", "connect to a TCP port of the host by ::1", hit(": </dev/tcp/::1/@TCP6@")),
    Case("N03", "connect to an abstract unix socket", connects("AF_UNIX", "'\\0@ABSTRACT@'")),
    Case("N04", "connect to a unix socket in the bot's directory", connects("AF_UNIX", "'@SOCK@'")),
    Case(
        "N05",
        "connect to a unix socket that is open to everybody (as docker.sock often is)",
        connects("AF_UNIX", "'@OPENSOCK@'"),
    ),
    Case(
        "N06",
        "send a UDP datagram, as a DNS query would",
        "echo question > /dev/udp/127.0.0.1/@UDP@",
        arrived("UDP"),
    ),
    Case(
        "N07",
        "open a raw or a packet socket",
        python("""
            tried(socket.socket, socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
            tried(socket.socket, socket.AF_PACKET, socket.SOCK_RAW)
        """),
        alone=False,
    ),
    Case(
        "N08",
        "open a VSOCK socket",
        python("tried(socket.socket, 40, socket.SOCK_STREAM)"),
        alone=False,
    ),
    Case(
        "N09",
        "listen on a port and be reached from the host",
        python("""
            try:
                server = socket.create_server(("127.0.0.1", @KNOCKED@))
                server.settimeout(0.6)
                server.accept()
            except OSError as error: print(error)
        """),
        knocked,
    ),
    Case(
        "N11",
        "see the host's network interfaces",
        hit("grep -q @IFACE@: /proc/net/dev") + "; " + hit("[ -e /sys/class/net/@IFACE@ ]"),
    ),
)
