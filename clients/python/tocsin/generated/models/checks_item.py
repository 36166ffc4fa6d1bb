from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.checks_item_status import ChecksItemStatus
from ..types import UNSET, Unset

T = TypeVar("T", bound="ChecksItem")


@_attrs_define
class ChecksItem:
    """
    Attributes:
        name (str):
        status (ChecksItemStatus):
        reason (str | Unset): Of a check that fails.
    """

    name: str
    status: ChecksItemStatus
    reason: str | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        name = self.name

        status = self.status.value

        reason = self.reason

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "name": name,
                "status": status,
            }
        )
        if reason is not UNSET:
            field_dict["reason"] = reason

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        name = d.pop("name")

        status = ChecksItemStatus(d.pop("status"))

        reason = d.pop("reason", UNSET)

        checks_item = cls(
            name=name,
            status=status,
            reason=reason,
        )

        checks_item.additional_properties = d
        return checks_item

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
