from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

if TYPE_CHECKING:
    from ..models.audit_entry_after import AuditEntryAfter
    from ..models.audit_entry_before import AuditEntryBefore


T = TypeVar("T", bound="AuditEntry")


@_attrs_define
class AuditEntry:
    """Who changed what, when and from where, with what differs before and after.

    Attributes:
        id (int):
        created (datetime.datetime):
        actor (str): Username; of an API key its name.
        key (int | None): Id of the API key; `null`: none was used.
        via (str): By which way: `console`, `command line`, `API` or `unsubscribe link`.
        address (str): From where; of the command line the name of the machine.
        action (str):
        object_ (str): Path of the changed object.
        before (AuditEntryBefore):
        after (AuditEntryAfter):
    """

    id: int
    created: datetime.datetime
    actor: str
    key: int | None
    via: str
    address: str
    action: str
    object_: str
    before: AuditEntryBefore
    after: AuditEntryAfter
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        id = self.id

        created = self.created.isoformat()

        actor = self.actor

        key: int | None
        key = self.key

        via = self.via

        address = self.address

        action = self.action

        object_ = self.object_

        before = self.before.to_dict()

        after = self.after.to_dict()

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "id": id,
                "created": created,
                "actor": actor,
                "key": key,
                "via": via,
                "address": address,
                "action": action,
                "object": object_,
                "before": before,
                "after": after,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.audit_entry_after import AuditEntryAfter  # noqa: PLC0415
        from ..models.audit_entry_before import AuditEntryBefore  # noqa: PLC0415

        d = dict(src_dict)
        id = d.pop("id")

        created = datetime.datetime.fromisoformat(d.pop("created"))

        actor = d.pop("actor")

        def _parse_key(data: object) -> int | None:
            if data is None:
                return data
            return cast(int | None, data)

        key = _parse_key(d.pop("key"))

        via = d.pop("via")

        address = d.pop("address")

        action = d.pop("action")

        object_ = d.pop("object")

        before = AuditEntryBefore.from_dict(d.pop("before"))

        after = AuditEntryAfter.from_dict(d.pop("after"))

        audit_entry = cls(
            id=id,
            created=created,
            actor=actor,
            key=key,
            via=via,
            address=address,
            action=action,
            object_=object_,
            before=before,
            after=after,
        )

        audit_entry.additional_properties = d
        return audit_entry

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
