from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.listed_occurrence_state import ListedOccurrenceState
from ..models.priority import Priority

if TYPE_CHECKING:
    from ..models.delivery_counts import DeliveryCounts


T = TypeVar("T", bound="ListedOccurrence")


@_attrs_define
class ListedOccurrence:
    """
    Attributes:
        id (int):
        event (int): Id of the event.
        state (ListedOccurrenceState): It waits for `send_at`; recipients are being found; deliveries are open;
            everything is over; nothing more is sent.
        priority (Priority): On each channel `urgent` goes before `normal` before `bulk`, and each of them that waits
            keeps a share.
        created (datetime.datetime):
        send_at (datetime.datetime | None): Nothing is sent before; null at once.
        expires_at (datetime.datetime | None): Nothing is sent from then on; null never.
        cancelled (datetime.datetime | None): When it was cancelled.
        correlation_id (str):
        counts (DeliveryCounts): How many deliveries are in each state.
        deliveries (str): URL of the deliveries.
    """

    id: int
    event: int
    state: ListedOccurrenceState
    priority: Priority
    created: datetime.datetime
    send_at: datetime.datetime | None
    expires_at: datetime.datetime | None
    cancelled: datetime.datetime | None
    correlation_id: str
    counts: DeliveryCounts
    deliveries: str
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        id = self.id

        event = self.event

        state = self.state.value

        priority = self.priority.value

        created = self.created.isoformat()

        send_at: None | str
        if isinstance(self.send_at, datetime.datetime):
            send_at = self.send_at.isoformat()
        else:
            send_at = self.send_at

        expires_at: None | str
        if isinstance(self.expires_at, datetime.datetime):
            expires_at = self.expires_at.isoformat()
        else:
            expires_at = self.expires_at

        cancelled: None | str
        if isinstance(self.cancelled, datetime.datetime):
            cancelled = self.cancelled.isoformat()
        else:
            cancelled = self.cancelled

        correlation_id = self.correlation_id

        counts = self.counts.to_dict()

        deliveries = self.deliveries

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "id": id,
                "event": event,
                "state": state,
                "priority": priority,
                "created": created,
                "send_at": send_at,
                "expires_at": expires_at,
                "cancelled": cancelled,
                "correlation_id": correlation_id,
                "counts": counts,
                "deliveries": deliveries,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.delivery_counts import DeliveryCounts  # noqa: PLC0415

        d = dict(src_dict)
        id = d.pop("id")

        event = d.pop("event")

        state = ListedOccurrenceState(d.pop("state"))

        priority = Priority(d.pop("priority"))

        created = datetime.datetime.fromisoformat(d.pop("created"))

        def _parse_send_at(data: object) -> datetime.datetime | None:
            if data is None:
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                send_at_type_0 = datetime.datetime.fromisoformat(data)

                return send_at_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(datetime.datetime | None, data)

        send_at = _parse_send_at(d.pop("send_at"))

        def _parse_expires_at(data: object) -> datetime.datetime | None:
            if data is None:
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                expires_at_type_0 = datetime.datetime.fromisoformat(data)

                return expires_at_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(datetime.datetime | None, data)

        expires_at = _parse_expires_at(d.pop("expires_at"))

        def _parse_cancelled(data: object) -> datetime.datetime | None:
            if data is None:
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                cancelled_type_0 = datetime.datetime.fromisoformat(data)

                return cancelled_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(datetime.datetime | None, data)

        cancelled = _parse_cancelled(d.pop("cancelled"))

        correlation_id = d.pop("correlation_id")

        counts = DeliveryCounts.from_dict(d.pop("counts"))

        deliveries = d.pop("deliveries")

        listed_occurrence = cls(
            id=id,
            event=event,
            state=state,
            priority=priority,
            created=created,
            send_at=send_at,
            expires_at=expires_at,
            cancelled=cancelled,
            correlation_id=correlation_id,
            counts=counts,
            deliveries=deliveries,
        )

        listed_occurrence.additional_properties = d
        return listed_occurrence

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
