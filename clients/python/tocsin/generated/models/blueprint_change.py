from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.blueprint_change_action import BlueprintChangeAction
from ..models.blueprint_change_kind import BlueprintChangeKind

T = TypeVar("T", bound="BlueprintChange")


@_attrs_define
class BlueprintChange:
    """The result for one object.

    Attributes:
        kind (BlueprintChangeKind):
        path (str):
        id (int):
        action (BlueprintChangeAction):
    """

    kind: BlueprintChangeKind
    path: str
    id: int
    action: BlueprintChangeAction
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        kind = self.kind.value

        path = self.path

        id = self.id

        action = self.action.value

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "kind": kind,
                "path": path,
                "id": id,
                "action": action,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        kind = BlueprintChangeKind(d.pop("kind"))

        path = d.pop("path")

        id = d.pop("id")

        action = BlueprintChangeAction(d.pop("action"))

        blueprint_change = cls(
            kind=kind,
            path=path,
            id=id,
            action=action,
        )

        blueprint_change.additional_properties = d
        return blueprint_change

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
