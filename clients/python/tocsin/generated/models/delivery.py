from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.delivery_state import DeliveryState

if TYPE_CHECKING:
    from ..models.delivery_channel_choice import DeliveryChannelChoice
    from ..models.delivery_waiting_type_0 import DeliveryWaitingType0


T = TypeVar("T", bound="Delivery")


@_attrs_define
class Delivery:
    """
    Attributes:
        id (int):
        notification (int): Id of the notification.
        user (str): Username; empty when the user is gone.
        address (str):
        channel (str): The channel that takes it.
        channel_choice (DeliveryChannelChoice): Why this channel. In a pool it need not be the one that the address is
            assigned to.
        protocol (str):
        state (DeliveryState):
        reason (str): Why it was skipped.
        attempts (int):
        last_error (str): The error of the last attempt, or, before the first attempt, why the host keeps the message
            waiting.
        created (datetime.datetime):
        waiting (DeliveryWaitingType0 | None): What it waits for; null when it is over.
        next_attempt (datetime.datetime | None): Not before this moment; null as soon as it can be.
        finished (datetime.datetime | None):
    """

    id: int
    notification: int
    user: str
    address: str
    channel: str
    channel_choice: DeliveryChannelChoice
    protocol: str
    state: DeliveryState
    reason: str
    attempts: int
    last_error: str
    created: datetime.datetime
    waiting: DeliveryWaitingType0 | None
    next_attempt: datetime.datetime | None
    finished: datetime.datetime | None
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        from ..models.delivery_waiting_type_0 import (
            DeliveryWaitingType0,  # noqa: PLC0415
        )

        id = self.id

        notification = self.notification

        user = self.user

        address = self.address

        channel = self.channel

        channel_choice = self.channel_choice.to_dict()

        protocol = self.protocol

        state = self.state.value

        reason = self.reason

        attempts = self.attempts

        last_error = self.last_error

        created = self.created.isoformat()

        waiting: dict[str, Any] | None
        if isinstance(self.waiting, DeliveryWaitingType0):
            waiting = self.waiting.to_dict()
        else:
            waiting = self.waiting

        next_attempt: None | str
        if isinstance(self.next_attempt, datetime.datetime):
            next_attempt = self.next_attempt.isoformat()
        else:
            next_attempt = self.next_attempt

        finished: None | str
        if isinstance(self.finished, datetime.datetime):
            finished = self.finished.isoformat()
        else:
            finished = self.finished

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "id": id,
                "notification": notification,
                "user": user,
                "address": address,
                "channel": channel,
                "channel_choice": channel_choice,
                "protocol": protocol,
                "state": state,
                "reason": reason,
                "attempts": attempts,
                "last_error": last_error,
                "created": created,
                "waiting": waiting,
                "next_attempt": next_attempt,
                "finished": finished,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.delivery_channel_choice import (
            DeliveryChannelChoice,  # noqa: PLC0415
        )
        from ..models.delivery_waiting_type_0 import (
            DeliveryWaitingType0,  # noqa: PLC0415
        )

        d = dict(src_dict)
        id = d.pop("id")

        notification = d.pop("notification")

        user = d.pop("user")

        address = d.pop("address")

        channel = d.pop("channel")

        channel_choice = DeliveryChannelChoice.from_dict(d.pop("channel_choice"))

        protocol = d.pop("protocol")

        state = DeliveryState(d.pop("state"))

        reason = d.pop("reason")

        attempts = d.pop("attempts")

        last_error = d.pop("last_error")

        created = datetime.datetime.fromisoformat(d.pop("created"))

        def _parse_waiting(data: object) -> DeliveryWaitingType0 | None:
            if data is None:
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                waiting_type_0 = DeliveryWaitingType0.from_dict(data)

                return waiting_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(DeliveryWaitingType0 | None, data)

        waiting = _parse_waiting(d.pop("waiting"))

        def _parse_next_attempt(data: object) -> datetime.datetime | None:
            if data is None:
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                next_attempt_type_0 = datetime.datetime.fromisoformat(data)

                return next_attempt_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(datetime.datetime | None, data)

        next_attempt = _parse_next_attempt(d.pop("next_attempt"))

        def _parse_finished(data: object) -> datetime.datetime | None:
            if data is None:
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                finished_type_0 = datetime.datetime.fromisoformat(data)

                return finished_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(datetime.datetime | None, data)

        finished = _parse_finished(d.pop("finished"))

        delivery = cls(
            id=id,
            notification=notification,
            user=user,
            address=address,
            channel=channel,
            channel_choice=channel_choice,
            protocol=protocol,
            state=state,
            reason=reason,
            attempts=attempts,
            last_error=last_error,
            created=created,
            waiting=waiting,
            next_attempt=next_attempt,
            finished=finished,
        )

        delivery.additional_properties = d
        return delivery

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
