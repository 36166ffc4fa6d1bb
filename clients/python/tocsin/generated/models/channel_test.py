from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

T = TypeVar("T", bound="ChannelTest")


@_attrs_define
class ChannelTest:
    """
    Attributes:
        to (str):
        accepted (bool): Whether the provider took the message.
        reason (str): Why not; empty when it did.
        temporary (bool): Whether another attempt may succeed.
    """

    to: str
    accepted: bool
    reason: str
    temporary: bool
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        to = self.to

        accepted = self.accepted

        reason = self.reason

        temporary = self.temporary

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "to": to,
                "accepted": accepted,
                "reason": reason,
                "temporary": temporary,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        to = d.pop("to")

        accepted = d.pop("accepted")

        reason = d.pop("reason")

        temporary = d.pop("temporary")

        channel_test = cls(
            to=to,
            accepted=accepted,
            reason=reason,
            temporary=temporary,
        )

        channel_test.additional_properties = d
        return channel_test

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
