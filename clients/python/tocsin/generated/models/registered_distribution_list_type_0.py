from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

T = TypeVar("T", bound="RegisteredDistributionListType0")


@_attrs_define
class RegisteredDistributionListType0:
    """`null` when the payload named no list.

    Attributes:
        name (str):
        recipients_added (int): How many assignments were not on the list before.
    """

    name: str
    recipients_added: int
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        name = self.name

        recipients_added = self.recipients_added

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "name": name,
                "recipients_added": recipients_added,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        name = d.pop("name")

        recipients_added = d.pop("recipients_added")

        registered_distribution_list_type_0 = cls(
            name=name,
            recipients_added=recipients_added,
        )

        registered_distribution_list_type_0.additional_properties = d
        return registered_distribution_list_type_0

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
