from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

if TYPE_CHECKING:
    from ..models.blueprint_change import BlueprintChange


T = TypeVar("T", bound="AppliedBlueprint")


@_attrs_define
class AppliedBlueprint:
    """What came of a blueprint.

    Attributes:
        dry_run (bool): Whether nothing was kept.
        created (int):
        updated (int):
        unchanged (int):
        changes (list[BlueprintChange]):
    """

    dry_run: bool
    created: int
    updated: int
    unchanged: int
    changes: list[BlueprintChange]
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        dry_run = self.dry_run

        created = self.created

        updated = self.updated

        unchanged = self.unchanged

        changes = []
        for changes_item_data in self.changes:
            changes_item = changes_item_data.to_dict()
            changes.append(changes_item)

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "dry_run": dry_run,
                "created": created,
                "updated": updated,
                "unchanged": unchanged,
                "changes": changes,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.blueprint_change import BlueprintChange  # noqa: PLC0415

        d = dict(src_dict)
        dry_run = d.pop("dry_run")

        created = d.pop("created")

        updated = d.pop("updated")

        unchanged = d.pop("unchanged")

        changes = []
        _changes = d.pop("changes")
        for changes_item_data in _changes:
            changes_item = BlueprintChange.from_dict(changes_item_data)

            changes.append(changes_item)

        applied_blueprint = cls(
            dry_run=dry_run,
            created=created,
            updated=updated,
            unchanged=unchanged,
            changes=changes,
        )

        applied_blueprint.additional_properties = d
        return applied_blueprint

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
