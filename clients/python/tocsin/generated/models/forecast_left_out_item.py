from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

T = TypeVar("T", bound="ForecastLeftOutItem")


@_attrs_define
class ForecastLeftOutItem:
    """
    Attributes:
        notification (str):
        channel (str):
        reason (str):
        recipients (int): How many that are.
        users (list[str]): The usernames of the first five. Empty for a key without `delivery:read`.
    """

    notification: str
    channel: str
    reason: str
    recipients: int
    users: list[str]
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        notification = self.notification

        channel = self.channel

        reason = self.reason

        recipients = self.recipients

        users = self.users

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "notification": notification,
                "channel": channel,
                "reason": reason,
                "recipients": recipients,
                "users": users,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        notification = d.pop("notification")

        channel = d.pop("channel")

        reason = d.pop("reason")

        recipients = d.pop("recipients")

        users = cast(list[str], d.pop("users"))

        forecast_left_out_item = cls(
            notification=notification,
            channel=channel,
            reason=reason,
            recipients=recipients,
            users=users,
        )

        forecast_left_out_item.additional_properties = d
        return forecast_left_out_item

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
