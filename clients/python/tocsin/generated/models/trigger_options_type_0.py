from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.trigger_options_type_0_priority_type_1 import (
    TriggerOptionsType0PriorityType1,
)
from ..models.trigger_options_type_0_priority_type_2_type_1 import (
    TriggerOptionsType0PriorityType2Type1,
)
from ..models.trigger_options_type_0_priority_type_3_type_1 import (
    TriggerOptionsType0PriorityType3Type1,
)
from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.trigger_options_type_0_recipient_filter_type_0 import (
        TriggerOptionsType0RecipientFilterType0,
    )


T = TypeVar("T", bound="TriggerOptionsType0")


@_attrs_define
class TriggerOptionsType0:
    """Options that do not exist are refused.

    Attributes:
        limit_to (list[str] | None | Unset): Addresses or usernames; only these are notified. An empty array is refused;
            leave it out to notify all. Names that are
            neither a member nor an address in the organization are refused and listed, unless `ignore_unknown` is true. A
            phone number
            without country code that is no username is one of the organization's `default_region`.
        channels (list[str] | None | Unset): Names of channels that the event can use; no other is used. An empty array
            is refused; leave it out to use all.
        ignore_unknown (bool | None | Unset): Whether unknown addresses and usernames are ignored instead of refused.
            Default: false.
        priority (None | TriggerOptionsType0PriorityType1 | TriggerOptionsType0PriorityType2Type1 |
            TriggerOptionsType0PriorityType3Type1 | Unset): Overrides the event's priority for this occurrence. A key can be
            limited to at most `normal`: then `urgent` is refused, and
            urgent events are sent as `normal`.
        recipient_filter (None | TriggerOptionsType0RecipientFilterType0 | Unset): Another form of `limit_to`. Send one
            of them.
        send_at (datetime.datetime | None | Unset): Nothing is sent before this moment, at most 366 days ahead.
            Recipients are found and gates are checked then, not now. A moment
            in the past means at once.
        expires_at (datetime.datetime | None | Unset): Nothing is sent from this moment on; open deliveries are then
            skipped as `expired`. It must be in the future and after
            `send_at`, at most 366 days.
        dry_run (bool | None | Unset): Whether to report what would happen without doing it. Default: false.
    """

    limit_to: list[str] | None | Unset = UNSET
    channels: list[str] | None | Unset = UNSET
    ignore_unknown: bool | None | Unset = UNSET
    priority: (
        None
        | TriggerOptionsType0PriorityType1
        | TriggerOptionsType0PriorityType2Type1
        | TriggerOptionsType0PriorityType3Type1
        | Unset
    ) = UNSET
    recipient_filter: None | TriggerOptionsType0RecipientFilterType0 | Unset = UNSET
    send_at: datetime.datetime | None | Unset = UNSET
    expires_at: datetime.datetime | None | Unset = UNSET
    dry_run: bool | None | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        from ..models.trigger_options_type_0_recipient_filter_type_0 import (
            TriggerOptionsType0RecipientFilterType0,  # noqa: PLC0415
        )

        limit_to: list[str] | None | Unset
        if isinstance(self.limit_to, Unset):
            limit_to = UNSET
        elif isinstance(self.limit_to, list):
            limit_to = self.limit_to

        else:
            limit_to = self.limit_to

        channels: list[str] | None | Unset
        if isinstance(self.channels, Unset):
            channels = UNSET
        elif isinstance(self.channels, list):
            channels = self.channels

        else:
            channels = self.channels

        ignore_unknown: bool | None | Unset
        if isinstance(self.ignore_unknown, Unset):
            ignore_unknown = UNSET
        else:
            ignore_unknown = self.ignore_unknown

        priority: None | str | Unset
        if isinstance(self.priority, Unset):
            priority = UNSET
        elif isinstance(self.priority, TriggerOptionsType0PriorityType1):
            priority = self.priority.value
        elif isinstance(self.priority, TriggerOptionsType0PriorityType2Type1):
            priority = self.priority.value
        elif isinstance(self.priority, TriggerOptionsType0PriorityType3Type1):
            priority = self.priority.value
        else:
            priority = self.priority

        recipient_filter: dict[str, Any] | None | Unset
        if isinstance(self.recipient_filter, Unset):
            recipient_filter = UNSET
        elif isinstance(self.recipient_filter, TriggerOptionsType0RecipientFilterType0):
            recipient_filter = self.recipient_filter.to_dict()
        else:
            recipient_filter = self.recipient_filter

        send_at: None | str | Unset
        if isinstance(self.send_at, Unset):
            send_at = UNSET
        elif isinstance(self.send_at, datetime.datetime):
            send_at = self.send_at.isoformat()
        else:
            send_at = self.send_at

        expires_at: None | str | Unset
        if isinstance(self.expires_at, Unset):
            expires_at = UNSET
        elif isinstance(self.expires_at, datetime.datetime):
            expires_at = self.expires_at.isoformat()
        else:
            expires_at = self.expires_at

        dry_run: bool | None | Unset
        if isinstance(self.dry_run, Unset):
            dry_run = UNSET
        else:
            dry_run = self.dry_run

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({})
        if limit_to is not UNSET:
            field_dict["limit_to"] = limit_to
        if channels is not UNSET:
            field_dict["channels"] = channels
        if ignore_unknown is not UNSET:
            field_dict["ignore_unknown"] = ignore_unknown
        if priority is not UNSET:
            field_dict["priority"] = priority
        if recipient_filter is not UNSET:
            field_dict["recipient_filter"] = recipient_filter
        if send_at is not UNSET:
            field_dict["send_at"] = send_at
        if expires_at is not UNSET:
            field_dict["expires_at"] = expires_at
        if dry_run is not UNSET:
            field_dict["dry_run"] = dry_run

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.trigger_options_type_0_recipient_filter_type_0 import (
            TriggerOptionsType0RecipientFilterType0,  # noqa: PLC0415
        )

        d = dict(src_dict)

        def _parse_limit_to(data: object) -> list[str] | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, list):
                    raise TypeError()
                limit_to_type_0 = cast(list[str], data)

                return limit_to_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(list[str] | None | Unset, data)

        limit_to = _parse_limit_to(d.pop("limit_to", UNSET))

        def _parse_channels(data: object) -> list[str] | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, list):
                    raise TypeError()
                channels_type_0 = cast(list[str], data)

                return channels_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(list[str] | None | Unset, data)

        channels = _parse_channels(d.pop("channels", UNSET))

        def _parse_ignore_unknown(data: object) -> bool | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(bool | None | Unset, data)

        ignore_unknown = _parse_ignore_unknown(d.pop("ignore_unknown", UNSET))

        def _parse_priority(
            data: object,
        ) -> (
            None
            | TriggerOptionsType0PriorityType1
            | TriggerOptionsType0PriorityType2Type1
            | TriggerOptionsType0PriorityType3Type1
            | Unset
        ):
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                priority_type_1 = TriggerOptionsType0PriorityType1(data)

                return priority_type_1
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            try:
                if not isinstance(data, str):
                    raise TypeError()
                priority_type_2_type_1 = TriggerOptionsType0PriorityType2Type1(data)

                return priority_type_2_type_1
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            try:
                if not isinstance(data, str):
                    raise TypeError()
                priority_type_3_type_1 = TriggerOptionsType0PriorityType3Type1(data)

                return priority_type_3_type_1
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(
                None
                | TriggerOptionsType0PriorityType1
                | TriggerOptionsType0PriorityType2Type1
                | TriggerOptionsType0PriorityType3Type1
                | Unset,
                data,
            )

        priority = _parse_priority(d.pop("priority", UNSET))

        def _parse_recipient_filter(
            data: object,
        ) -> None | TriggerOptionsType0RecipientFilterType0 | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                recipient_filter_type_0 = (
                    TriggerOptionsType0RecipientFilterType0.from_dict(data)
                )

                return recipient_filter_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(None | TriggerOptionsType0RecipientFilterType0 | Unset, data)

        recipient_filter = _parse_recipient_filter(d.pop("recipient_filter", UNSET))

        def _parse_send_at(data: object) -> datetime.datetime | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                send_at_type_0 = datetime.datetime.fromisoformat(data)

                return send_at_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(datetime.datetime | None | Unset, data)

        send_at = _parse_send_at(d.pop("send_at", UNSET))

        def _parse_expires_at(data: object) -> datetime.datetime | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                expires_at_type_0 = datetime.datetime.fromisoformat(data)

                return expires_at_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(datetime.datetime | None | Unset, data)

        expires_at = _parse_expires_at(d.pop("expires_at", UNSET))

        def _parse_dry_run(data: object) -> bool | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(bool | None | Unset, data)

        dry_run = _parse_dry_run(d.pop("dry_run", UNSET))

        trigger_options_type_0 = cls(
            limit_to=limit_to,
            channels=channels,
            ignore_unknown=ignore_unknown,
            priority=priority,
            recipient_filter=recipient_filter,
            send_at=send_at,
            expires_at=expires_at,
            dry_run=dry_run,
        )

        trigger_options_type_0.additional_properties = d
        return trigger_options_type_0

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
