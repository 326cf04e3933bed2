"""What is on this machine and nowhere else."""

from __future__ import annotations

from ipaddress import ip_address


def is_loopback(host: str) -> bool:
    """Whether a host name or address stands for this machine alone: `localhost`, `127.0.0.1`, `::1`."""
    if host.lower() == "localhost":
        return True
    try:
        address = ip_address(host.strip("[]"))
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return (mapped or address).is_loopback
