from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.cause import Cause

T = TypeVar("T", bound="DeliveryWaitingType0")


@_attrs_define
class DeliveryWaitingType0:
    """What it waits for; null when it is over.

    Attributes:
        for_ (Cause): `recipients`: the recipients of the occurrence to be looked up. `scheduled`: the moment when the
            occurrence is to be sent. `channel not working`: the channel's provider, or, as
            `text` then says, another channel of its pool, because its own is inactive. `next attempt`: the pause
            after an attempt that failed, or after a host that did not answer. `limit of the channel`: with `until`, its
            provider asked for a pause; otherwise only of an occurrence: other messages go before it, and the channel sends
            at most
            `rate_per_second`. `quota of the channel`: the next day or month (UTC), because nothing is left of its quota.
            `its turn`: a worker,
            because it is due. `sending is stopped`: the installation, which sends nothing for now. `answer`: a worker has
            it, and is sending it or is about to.
        text (str): All of it in words.
        since (datetime.datetime | None): When the channel began to fail.
        until (datetime.datetime | None): Nothing is tried before.
        error (str): What the channel failed with last, or what its provider answered when it asked for a pause.
    """

    for_: Cause
    text: str
    since: datetime.datetime | None
    until: datetime.datetime | None
    error: str
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        for_ = self.for_.value

        text = self.text

        since: None | str
        if isinstance(self.since, datetime.datetime):
            since = self.since.isoformat()
        else:
            since = self.since

        until: None | str
        if isinstance(self.until, datetime.datetime):
            until = self.until.isoformat()
        else:
            until = self.until

        error = self.error

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "for": for_,
                "text": text,
                "since": since,
                "until": until,
                "error": error,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        for_ = Cause(d.pop("for"))

        text = d.pop("text")

        def _parse_since(data: object) -> datetime.datetime | None:
            if data is None:
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                since_type_0 = datetime.datetime.fromisoformat(data)

                return since_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(datetime.datetime | None, data)

        since = _parse_since(d.pop("since"))

        def _parse_until(data: object) -> datetime.datetime | None:
            if data is None:
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                until_type_0 = datetime.datetime.fromisoformat(data)

                return until_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(datetime.datetime | None, data)

        until = _parse_until(d.pop("until"))

        error = d.pop("error")

        delivery_waiting_type_0 = cls(
            for_=for_,
            text=text,
            since=since,
            until=until,
            error=error,
        )

        delivery_waiting_type_0.additional_properties = d
        return delivery_waiting_type_0

    @property
    def additional_keys(self) -> list[str]:
        return list(self.additional_properties.keys())

    def __getitem__(self, key: str) -> Any:
        return self.additional_properties[key]

    def __setitem__(self, key: str, value: Any) -> None:
        self.additional_properties[key] = value

    def __delitem__(self, key: str) -> None:
        del self.additional_properties[key]

    def __contains__(self, key: str) -> bool:
        return key in self.additional_properties
