from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

if TYPE_CHECKING:
    from ..models.forecast_left_out_item import ForecastLeftOutItem
    from ..models.forecast_messages_item import ForecastMessagesItem
    from ..models.forecast_recipients_item import ForecastRecipientsItem


T = TypeVar("T", bound="Forecast")


@_attrs_define
class Forecast:
    """
    Attributes:
        recipients (list[ForecastRecipientsItem]): How many would be delivered to, per notification and channel.
        left_out (list[ForecastLeftOutItem]): Who would be left out, and why.
        messages (list[ForecastMessagesItem]): The first five messages. Empty for a key without `delivery:read`.
    """

    recipients: list[ForecastRecipientsItem]
    left_out: list[ForecastLeftOutItem]
    messages: list[ForecastMessagesItem]
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        recipients = []
        for recipients_item_data in self.recipients:
            recipients_item = recipients_item_data.to_dict()
            recipients.append(recipients_item)

        left_out = []
        for left_out_item_data in self.left_out:
            left_out_item = left_out_item_data.to_dict()
            left_out.append(left_out_item)

        messages = []
        for messages_item_data in self.messages:
            messages_item = messages_item_data.to_dict()
            messages.append(messages_item)

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "recipients": recipients,
                "left_out": left_out,
                "messages": messages,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.forecast_left_out_item import ForecastLeftOutItem  # noqa: PLC0415
        from ..models.forecast_messages_item import (
            ForecastMessagesItem,  # noqa: PLC0415
        )
        from ..models.forecast_recipients_item import (
            ForecastRecipientsItem,  # noqa: PLC0415
        )

        d = dict(src_dict)
        recipients = []
        _recipients = d.pop("recipients")
        for recipients_item_data in _recipients:
            recipients_item = ForecastRecipientsItem.from_dict(recipients_item_data)

            recipients.append(recipients_item)

        left_out = []
        _left_out = d.pop("left_out")
        for left_out_item_data in _left_out:
            left_out_item = ForecastLeftOutItem.from_dict(left_out_item_data)

            left_out.append(left_out_item)

        messages = []
        _messages = d.pop("messages")
        for messages_item_data in _messages:
            messages_item = ForecastMessagesItem.from_dict(messages_item_data)

            messages.append(messages_item)

        forecast = cls(
            recipients=recipients,
            left_out=left_out,
            messages=messages,
        )

        forecast.additional_properties = d
        return forecast

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
