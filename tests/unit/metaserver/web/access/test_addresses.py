"""Whence a request comes: proxies are believed only where they are trusted."""

import pytest

from metaserver.base.errors import InputError
from metaserver.web.access.addresses import UNKNOWN, Origin, Proxies


def address(peer: str | None, *forwarded: str, trusted: tuple[str, ...] = ("10.0.0.0/8",)) -> str:
    origin = Proxies(trusted).origin(peer, secure=False, forwarded=forwarded, protocol="")
    return origin.address


@pytest.mark.parametrize(
    ("peer", "forwarded", "expected"),
    [
        ("192.0.2.1", (), "192.0.2.1"),
        ("192.0.2.1", ("198.51.100.7",), "192.0.2.1"),  # nobody we trust says so
        ("10.0.0.1", ("198.51.100.7",), "198.51.100.7"),
        ("10.0.0.1", ("1.2.3.4, 198.51.100.7",), "198.51.100.7"),  # 1.2.3.4 is the client's word
        ("10.0.0.1", ("1.2.3.4", "198.51.100.7, 10.0.0.2"), "198.51.100.7"),
        ("10.0.0.1", ("10.0.0.9, 10.0.0.2",), "10.0.0.9"),
        ("10.0.0.1", ("198.51.100.7, rubbish",), "10.0.0.1"),
        ("10.0.0.1", ("",), "10.0.0.1"),
        ("::ffff:192.0.2.1", (), "192.0.2.1"),
        ("::ffff:10.0.0.1", ("2001:db8::1",), "2001:db8::1"),
        ("fe80::1%eth0", (), "fe80::1"),
        (None, ("198.51.100.7",), UNKNOWN),
    ],
)
def test_the_last_address_that_is_not_a_trusted_proxys(peer, forwarded, expected):
    assert address(peer, *forwarded) == expected


def test_https_is_believed_of_a_trusted_proxy_alone() -> None:
    proxies = Proxies(["10.0.0.0/8"])
    for peer, secure in (("10.0.0.1", True), ("192.0.2.1", False)):
        assert proxies.origin(peer, secure=False, forwarded=(), protocol="https").secure is secure


def test_limits_go_by_the_network_that_one_ipv6_client_has() -> None:
    keys = {Origin(address=f"2001:db8::{last}", secure=False).key for last in range(1, 9)}
    assert keys == {"2001:db8::/64"}
    assert Origin(address="192.0.2.1", secure=False).key == "192.0.2.1"


def test_a_network_that_is_none_is_told_with_its_setting() -> None:
    with pytest.raises(InputError, match=r"^web.trusted_proxies: .*expected 10.0.0.0/8"):
        Proxies(["proxy.example.org"])
