from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

T = TypeVar("T", bound="DeliveryChannelChoice")


@_attrs_define
class DeliveryChannelChoice:
    """Why this channel. In a pool it need not be the one that the address is assigned to.

    Attributes:
        because (str): `only one`, `weight`, `not working`, `limit` or `inactive`: the last three are of the channel
            that it waited for before.
        text (str): The same in words.
        assigned_to (str): The channel that the address is assigned to; empty when it is gone.
        instead_of (str): The channel that it waited for before; empty for none.
    """

    because: str
    text: str
    assigned_to: str
    instead_of: str
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        because = self.because

        text = self.text

        assigned_to = self.assigned_to

        instead_of = self.instead_of

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "because": because,
                "text": text,
                "assigned_to": assigned_to,
                "instead_of": instead_of,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        because = d.pop("because")

        text = d.pop("text")

        assigned_to = d.pop("assigned_to")

        instead_of = d.pop("instead_of")

        delivery_channel_choice = cls(
            because=because,
            text=text,
            assigned_to=assigned_to,
            instead_of=instead_of,
        )

        delivery_channel_choice.additional_properties = d
        return delivery_channel_choice

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
