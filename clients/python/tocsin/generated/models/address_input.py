from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

T = TypeVar("T", bound="AddressInput")


@_attrs_define
class AddressInput:
    """
    Attributes:
        value (str): The address itself.
        name (None | str | Unset): A label. Without it, the derived type.
        assign_to_preferred_channel (bool | None | Unset): Whether to create a validated assignment to every preferred
            channel whose protocol can reach the address. Without it, false.
    """

    value: str
    name: None | str | Unset = UNSET
    assign_to_preferred_channel: bool | None | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        value = self.value

        name: None | str | Unset
        if isinstance(self.name, Unset):
            name = UNSET
        else:
            name = self.name

        assign_to_preferred_channel: bool | None | Unset
        if isinstance(self.assign_to_preferred_channel, Unset):
            assign_to_preferred_channel = UNSET
        else:
            assign_to_preferred_channel = self.assign_to_preferred_channel

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "value": value,
            }
        )
        if name is not UNSET:
            field_dict["name"] = name
        if assign_to_preferred_channel is not UNSET:
            field_dict["assign_to_preferred_channel"] = assign_to_preferred_channel

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        value = d.pop("value")

        def _parse_name(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        name = _parse_name(d.pop("name", UNSET))

        def _parse_assign_to_preferred_channel(data: object) -> bool | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(bool | None | Unset, data)

        assign_to_preferred_channel = _parse_assign_to_preferred_channel(
            d.pop("assign_to_preferred_channel", UNSET)
        )

        address_input = cls(
            value=value,
            name=name,
            assign_to_preferred_channel=assign_to_preferred_channel,
        )

        address_input.additional_properties = d
        return address_input

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
