from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.occurrence_state import OccurrenceState
from ..models.priority import Priority

if TYPE_CHECKING:
    from ..models.delivery_counts import DeliveryCounts
    from ..models.occurrence_waiting_item import OccurrenceWaitingItem


T = TypeVar("T", bound="Occurrence")


@_attrs_define
class Occurrence:
    """
    Attributes:
        id (int):
        event (int): Id of the event.
        state (OccurrenceState): It waits for `send_at`; recipients are being found; deliveries are open; everything is
            over; nothing more is sent.
        priority (Priority): On each channel `urgent` goes before `normal` before `bulk`, and each of them that waits
            keeps a share.
        created (datetime.datetime):
        send_at (datetime.datetime | None): Nothing is sent before; null at once.
        expires_at (datetime.datetime | None): Nothing is sent from then on; null never.
        cancelled (datetime.datetime | None): When it was cancelled.
        correlation_id (str):
        counts (DeliveryCounts): How many deliveries are in each state.
        deliveries (str): URL of the deliveries.
        waiting (list[OccurrenceWaitingItem]): What it waits for, each cause of each channel once, as far as the first
            and the last open deliveries tell.
        expected_end (datetime.datetime | None): When the last delivery will have ended at the present rate, not before
            the next attempts and not after `expires_at`. Null before the first has ended, when nothing is open, while
            sending is stopped, and while a delivery waits for a failing channel, a quota, or a pause that a provider asked
            for.
        request_id (str): The `X-Request-ID` of the request that triggered it, as its answer and the log have it; empty
            when none is known.
        traceparent (str): The `traceparent` of that request (W3C Trace Context); empty when it had none.
    """

    id: int
    event: int
    state: OccurrenceState
    priority: Priority
    created: datetime.datetime
    send_at: datetime.datetime | None
    expires_at: datetime.datetime | None
    cancelled: datetime.datetime | None
    correlation_id: str
    counts: DeliveryCounts
    deliveries: str
    waiting: list[OccurrenceWaitingItem]
    expected_end: datetime.datetime | None
    request_id: str
    traceparent: str
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

        waiting = []
        for waiting_item_data in self.waiting:
            waiting_item = waiting_item_data.to_dict()
            waiting.append(waiting_item)

        expected_end: None | str
        if isinstance(self.expected_end, datetime.datetime):
            expected_end = self.expected_end.isoformat()
        else:
            expected_end = self.expected_end

        request_id = self.request_id

        traceparent = self.traceparent

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
                "waiting": waiting,
                "expected_end": expected_end,
                "request_id": request_id,
                "traceparent": traceparent,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.delivery_counts import DeliveryCounts  # noqa: PLC0415
        from ..models.occurrence_waiting_item import (
            OccurrenceWaitingItem,  # noqa: PLC0415
        )

        d = dict(src_dict)
        id = d.pop("id")

        event = d.pop("event")

        state = OccurrenceState(d.pop("state"))

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

        waiting = []
        _waiting = d.pop("waiting")
        for waiting_item_data in _waiting:
            waiting_item = OccurrenceWaitingItem.from_dict(waiting_item_data)

            waiting.append(waiting_item)

        def _parse_expected_end(data: object) -> datetime.datetime | None:
            if data is None:
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                expected_end_type_0 = datetime.datetime.fromisoformat(data)

                return expected_end_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(datetime.datetime | None, data)

        expected_end = _parse_expected_end(d.pop("expected_end"))

        request_id = d.pop("request_id")

        traceparent = d.pop("traceparent")

        occurrence = cls(
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
            waiting=waiting,
            expected_end=expected_end,
            request_id=request_id,
            traceparent=traceparent,
        )

        occurrence.additional_properties = d
        return occurrence

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
