"""The guard against refused addresses, in every form of an address."""

from ipaddress import ip_network

import pytest

from metaserver.exchange.http.guard import AddressGuard, RefusedAddressError

REFUSED = {
    "loopback": ["127.0.0.1", "127.255.255.254", "::1"],
    "unspecified": ["0.0.0.0", "0.1.2.3", "::"],
    "private": ["10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "fc00::1", "fdff::1",
                "fec0::1", "64:ff9b:1::1"],
    "link-local": ["169.254.0.1", "fe80::1", "fe80::1%lo", "febf::1"],
    "a cloud's metadata service": ["169.254.169.254", "169.254.170.2", "100.100.100.200",
                                   "168.63.129.16", "fd00:ec2::254"],
    "shared by a provider's customers": ["100.64.0.1", "100.127.255.255"],
    "multicast": ["224.0.0.1", "239.255.255.250", "ff02::1"],
    "for examples in documents": ["192.0.2.1", "198.51.100.1", "203.0.113.1", "2001:db8::1",
                                  "3fff::1"],
    "reserved": ["192.0.0.8", "198.18.0.1", "240.0.0.1", "255.255.255.255", "100::1", "2001:2::1",
                 "4000::1", "5f00::1", "::ffff:0:5db8:d822"],
}  # fmt: skip
PUBLIC = [
    "93.184.216.34", "8.8.8.8", "172.15.255.255", "172.32.0.1", "100.63.255.255", "100.128.0.1",
    "169.253.1.1", "223.255.255.255", "2606:2800:220:1::1", "2001:4860:4860::8888",
]  # fmt: skip


@pytest.mark.parametrize(
    ("word", "address"), [(word, address) for word in REFUSED for address in REFUSED[word]]
)
def test_non_public_addresses_are_refused_by_kind(word: str, address: str) -> None:
    with pytest.raises(RefusedAddressError) as caught:
        AddressGuard().check(address)
    found = str(caught.value)
    assert found == f"the address {address} is {word}; this hub does not send articles there"


@pytest.mark.parametrize("address", PUBLIC)
def test_public_addresses_are_not_refused(address: str) -> None:
    AddressGuard().check(address)


FORMS = {
    "mapped": "::ffff:{hex}", "compatible": "::{hex}", "6to4": "2002:{hex}::1",
    "NAT64": "64:ff9b::{hex}", "Teredo's server": "2001:0:{hex}::a247:27dd",
    "Teredo's client": "2001:0:5db8:d822:8000:0:{inverted}",
}  # fmt: skip


def in_form(form: str, address: str) -> str:
    bits = int.from_bytes(map(int, address.split(".")))
    groups = {"hex": bits, "inverted": bits ^ 0xFFFF_FFFF}
    return FORMS[form].format_map(
        {name: f"{n >> 16:x}:{n & 0xFFFF:x}" for name, n in groups.items()}
    )


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("address", ["127.0.0.1", "10.1.2.3", "169.254.169.254", "100.64.0.9"])
def test_an_address_within_another_is_judged_as_itself(form: str, address: str) -> None:
    outer = in_form(form, address)
    with pytest.raises(RefusedAddressError, match=f"the address .*{address} in .* is "):
        AddressGuard().check(outer)
    AddressGuard([ip_network(address)]).check(outer)
    AddressGuard([ip_network("::/0")]).check(outer)
    AddressGuard().check(in_form(form, "93.184.216.34"))


def test_only_the_allowed_network_is_allowed() -> None:
    guard = AddressGuard([ip_network("127.0.0.0/8"), ip_network("fd00::/8")])
    for address in ("127.0.0.1", "::ffff:127.0.0.1", "fd12::1"):
        guard.check(address)
    for address in ("::1", "10.0.0.1", "fc00::1"):
        with pytest.raises(RefusedAddressError):
            guard.check(address)


@pytest.mark.parametrize("host", ["127.1", "2130706433", "0x7f.1", "localhost", "", "127.0.0.01"])
def test_a_host_that_is_no_plain_address_is_refused(host: str) -> None:
    with pytest.raises(RefusedAddressError, match="is not an address"):
        AddressGuard([ip_network("0.0.0.0/0")]).check(host)
