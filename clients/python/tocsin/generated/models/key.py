from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.key_state import KeyState

T = TypeVar("T", bound="Key")


@_attrs_define
class Key:
    """An API key without its token.

    Attributes:
        id (int):
        name (str):
        project (None | str): Slug of the project that it is limited to.
        application (None | str): Slug of the application that it is limited to.
        grants (list[str]): What it may do.
        at_most_normal (bool): Whether what it triggers is never urgent.
        state (KeyState): A key that is replaced is valid until it expires.
        created (datetime.datetime):
        expires (datetime.datetime | None): When it ends; `null`: never.
        replaced (datetime.datetime | None): When another key took its place.
        revoked (datetime.datetime | None):
        last_used (datetime.datetime | None): To the minute.
    """

    id: int
    name: str
    project: None | str
    application: None | str
    grants: list[str]
    at_most_normal: bool
    state: KeyState
    created: datetime.datetime
    expires: datetime.datetime | None
    replaced: datetime.datetime | None
    revoked: datetime.datetime | None
    last_used: datetime.datetime | None
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        id = self.id

        name = self.name

        project: None | str
        project = self.project

        application: None | str
        application = self.application

        grants = self.grants

        at_most_normal = self.at_most_normal

        state = self.state.value

        created = self.created.isoformat()

        expires: None | str
        if isinstance(self.expires, datetime.datetime):
            expires = self.expires.isoformat()
        else:
            expires = self.expires

        replaced: None | str
        if isinstance(self.replaced, datetime.datetime):
            replaced = self.replaced.isoformat()
        else:
            replaced = self.replaced

        revoked: None | str
        if isinstance(self.revoked, datetime.datetime):
            revoked = self.revoked.isoformat()
        else:
            revoked = self.revoked

        last_used: None | str
        if isinstance(self.last_used, datetime.datetime):
            last_used = self.last_used.isoformat()
        else:
            last_used = self.last_used

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "id": id,
                "name": name,
                "project": project,
                "application": application,
                "grants": grants,
                "at_most_normal": at_most_normal,
                "state": state,
                "created": created,
                "expires": expires,
                "replaced": replaced,
                "revoked": revoked,
                "last_used": last_used,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        id = d.pop("id")

        name = d.pop("name")

        def _parse_project(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        project = _parse_project(d.pop("project"))

        def _parse_application(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        application = _parse_application(d.pop("application"))

        grants = cast(list[str], d.pop("grants"))

        at_most_normal = d.pop("at_most_normal")

        state = KeyState(d.pop("state"))

        created = datetime.datetime.fromisoformat(d.pop("created"))

        def _parse_expires(data: object) -> datetime.datetime | None:
            if data is None:
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                expires_type_0 = datetime.datetime.fromisoformat(data)

                return expires_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(datetime.datetime | None, data)

        expires = _parse_expires(d.pop("expires"))

        def _parse_replaced(data: object) -> datetime.datetime | None:
            if data is None:
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                replaced_type_0 = datetime.datetime.fromisoformat(data)

                return replaced_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(datetime.datetime | None, data)

        replaced = _parse_replaced(d.pop("replaced"))

        def _parse_revoked(data: object) -> datetime.datetime | None:
            if data is None:
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                revoked_type_0 = datetime.datetime.fromisoformat(data)

                return revoked_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(datetime.datetime | None, data)

        revoked = _parse_revoked(d.pop("revoked"))

        def _parse_last_used(data: object) -> datetime.datetime | None:
            if data is None:
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                last_used_type_0 = datetime.datetime.fromisoformat(data)

                return last_used_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(datetime.datetime | None, data)

        last_used = _parse_last_used(d.pop("last_used"))

        key = cls(
            id=id,
            name=name,
            project=project,
            application=application,
            grants=grants,
            at_most_normal=at_most_normal,
            state=state,
            created=created,
            expires=expires,
            replaced=replaced,
            revoked=revoked,
            last_used=last_used,
        )

        key.additional_properties = d
        return key

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
