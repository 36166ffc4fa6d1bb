from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

T = TypeVar("T", bound="ForecastMessagesItem")


@_attrs_define
class ForecastMessagesItem:
    """
    Attributes:
        notification (str):
        channel (str):
        to (str):
        subject (str):
        text (str):
        html (str):
        missing_variables (list[str]): The variables of the template without a value, each with its place. They are
            empty in the message.
        error (str | Unset): Why the message cannot be rendered.
    """

    notification: str
    channel: str
    to: str
    subject: str
    text: str
    html: str
    missing_variables: list[str]
    error: str | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        notification = self.notification

        channel = self.channel

        to = self.to

        subject = self.subject

        text = self.text

        html = self.html

        missing_variables = self.missing_variables

        error = self.error

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "notification": notification,
                "channel": channel,
                "to": to,
                "subject": subject,
                "text": text,
                "html": html,
                "missing_variables": missing_variables,
            }
        )
        if error is not UNSET:
            field_dict["error"] = error

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        notification = d.pop("notification")

        channel = d.pop("channel")

        to = d.pop("to")

        subject = d.pop("subject")

        text = d.pop("text")

        html = d.pop("html")

        missing_variables = cast(list[str], d.pop("missing_variables"))

        error = d.pop("error", UNSET)

        forecast_messages_item = cls(
            notification=notification,
            channel=channel,
            to=to,
            subject=subject,
            text=text,
            html=html,
            missing_variables=missing_variables,
            error=error,
        )

        forecast_messages_item.additional_properties = d
        return forecast_messages_item

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
