"""Names of time zones."""

from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from evalplatform.kernel.errors import nearest_name


def known_timezone(name: str) -> str:
    """Return an IANA time zone's name; a ValueError with the nearest one where there is none of that name here."""
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, OSError, ValueError):  # no such zone; a folder of zones; a name that is no path
        near = nearest_name(name, available_timezones())
        hint = f"; did you mean {near!r}?" if near else ""
        raise ValueError(f"must be an IANA time zone, such as 'Europe/Berlin'{hint}") from None
    return name
