"""Which hosts a command may reach, and at which addresses."""

from __future__ import annotations

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools.sandbox.hosts import HostRules, is_host, is_public

TRICKS = [
    "",
    ".",
    "localhost",
    "127.0.0.1",
    "127.1",
    "0x7f.0.0.1",
    "0x7f000001",
    "2130706433",
    "017700000001",
    "[::1]",
    "::1",
    "files.example.com.",
    "files.example.com..",
    ".files.example.com",
    "files..example.com",
    "files.example.com\0",
    "evil.test\0.example.com",
    "files.example.com%00",
    "files.example.com%2eevil.test",
    " files.example.com",
    "files.example.com ",
    "files.example.com\n",
    "files.example.com\t",
    "FILES.example.com",
    "files.example.com:443",
    "user@files.example.com",
    "files.example.com/evil.test",
    "files.example.com#evil.test",
    "files.example.com?evil.test",
    "files_example.com",
    "-files.example.com",
    "files-.example.com",
    "files.example.com-",
    "files。example.com",
    "files．example.com",
    "ｆiles.example.com",
    "fıles.example.com",
    "fileſ.example.com",
    "files.example.\N{KELVIN SIGN}om",
    "a" * 64 + ".example.com",
    ".".join(["a" * 49] * 5) + ".example.com",
]


@pytest.mark.parametrize("text", TRICKS)
def test_what_is_no_plain_host_name_is_refused_whatever_the_rules_say(text: str) -> None:
    rules = HostRules(["files.example.com", "*.example.com"])

    assert not is_host(text)
    assert not rules.allow(text)


def test_a_name_allows_itself_alone() -> None:
    rules = HostRules(["files.example.com"])

    assert rules.allow("files.example.com")
    for other in ("a.files.example.com", "example.com", "xfiles.example.com"):
        assert not rules.allow(other)
    assert not rules.allow("files.example.com.evil.test")


def test_a_star_allows_what_lies_below_on_a_label_boundary() -> None:
    rules = HostRules(["*.example.com"])

    assert rules.allow("files.example.com")
    assert rules.allow("a.b.example.com")
    for other in ("example.com", "notexample.com", "files.example.com.evil.test"):
        assert not rules.allow(other)


def test_rules_are_read_without_regard_to_case() -> None:
    assert HostRules(["Files.Example.COM"]).allow("files.example.com")


@pytest.mark.parametrize(
    "name", ["*", "*.", "*.com", "*.*.com", "a.*.com", "https://a.com", "10.0.0.1", ""]
)
def test_a_rule_that_is_no_host_name_is_an_error_that_shows_the_right_form(name: str) -> None:
    with pytest.raises(ValueError, match=r"files\.example\.com"):
        HostRules([name])


@given(st.text(max_size=40))
def test_only_plain_ascii_names_with_a_dot_are_hosts(text: str) -> None:
    if is_host(text):
        assert text.isascii()
        assert text == text.lower()
        assert "." in text
        assert set(text) <= set("abcdefghijklmnopqrstuvwxyz0123456789-.")
        with pytest.raises(ValueError, match="appear to be"):
            ipaddress.ip_address(text)


@given(st.text(alphabet="ab.c*", max_size=12))
def test_a_host_is_allowed_by_a_star_exactly_if_it_ends_with_a_dot_and_the_suffix(
    host: str,
) -> None:
    allowed = HostRules(["*.b.c"]).allow(host)

    assert allowed == (is_host(host) and host.endswith(".b.c"))


NOT_PUBLIC = """
    0.0.0.0 0.1.2.3 10.1.2.3 100.64.0.1 127.0.0.1 127.255.255.254 169.254.169.254 172.16.0.1
    172.31.255.255 192.0.0.1 192.0.0.170 192.0.2.1 192.88.99.1 192.168.0.1 198.18.0.1 198.51.100.1
    203.0.113.1 224.0.0.1 239.255.255.250 240.0.0.1 255.255.255.255
    :: ::1 ::127.0.0.1 ::ffff:127.0.0.1 ::ffff:8.8.8.8 64:ff9b::7f00:1 64:ff9b::808:808
    64:ff9b:1::1 100::1 2001::1 2001:0:7f00:1::1 2001:db8::1 2002:7f00:1::1 2002:a00:1::
    3fff::1 fc00::1 fd00:ec2::254 fe80::1 fec0::1 ff02::1 ff0e::1
""".split()  # noqa: SIM905


@pytest.mark.parametrize("text", NOT_PUBLIC)
def test_addresses_inside_or_with_another_address_inside_are_not_public(text: str) -> None:
    assert not is_public(ipaddress.ip_address(text))


@pytest.mark.parametrize("text", ["8.8.8.8", "93.184.215.14", "2606:4700::1111", "2a00:1450::1"])
def test_ordinary_addresses_are_public(text: str) -> None:
    assert is_public(ipaddress.ip_address(text))
