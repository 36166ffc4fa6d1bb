from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.priority import Priority

if TYPE_CHECKING:
    from ..models.event_context_schema_type_0 import EventContextSchemaType0
    from ..models.event_example_type_0 import EventExampleType0


T = TypeVar("T", bound="Event")


@_attrs_define
class Event:
    """
    Attributes:
        id (int):
        name (str):
        slug (str):
        description (str):
        active (bool):
        locked (bool): Always false: events have no lock.
        channels (list[str]): Names of the channels that the event is limited to. Without any, and without pools, it may
            use every active channel of its project and organization.
        pools (list[str]): Names of the pools that the event is limited to; it may use whatever channels are their
            members.
        priority (Priority): On each channel `urgent` goes before `normal` before `bulk`, and each of them that waits
            keeps a share.
        context_schema (EventContextSchemaType0 | None): JSON Schema that the context of a trigger must fit; null where
            there is none.
        example (EventExampleType0 | None): An example context for authors of templates; null if there is none.
    """

    id: int
    name: str
    slug: str
    description: str
    active: bool
    locked: bool
    channels: list[str]
    pools: list[str]
    priority: Priority
    context_schema: EventContextSchemaType0 | None
    example: EventExampleType0 | None
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        from ..models.event_context_schema_type_0 import (
            EventContextSchemaType0,  # noqa: PLC0415
        )
        from ..models.event_example_type_0 import EventExampleType0  # noqa: PLC0415

        id = self.id

        name = self.name

        slug = self.slug

        description = self.description

        active = self.active

        locked = self.locked

        channels = self.channels

        pools = self.pools

        priority = self.priority.value

        context_schema: dict[str, Any] | None
        if isinstance(self.context_schema, EventContextSchemaType0):
            context_schema = self.context_schema.to_dict()
        else:
            context_schema = self.context_schema

        example: dict[str, Any] | None
        if isinstance(self.example, EventExampleType0):
            example = self.example.to_dict()
        else:
            example = self.example

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "id": id,
                "name": name,
                "slug": slug,
                "description": description,
                "active": active,
                "locked": locked,
                "channels": channels,
                "pools": pools,
                "priority": priority,
                "context_schema": context_schema,
                "example": example,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.event_context_schema_type_0 import (
            EventContextSchemaType0,  # noqa: PLC0415
        )
        from ..models.event_example_type_0 import EventExampleType0  # noqa: PLC0415

        d = dict(src_dict)
        id = d.pop("id")

        name = d.pop("name")

        slug = d.pop("slug")

        description = d.pop("description")

        active = d.pop("active")

        locked = d.pop("locked")

        channels = cast(list[str], d.pop("channels"))

        pools = cast(list[str], d.pop("pools"))

        priority = Priority(d.pop("priority"))

        def _parse_context_schema(data: object) -> EventContextSchemaType0 | None:
            if data is None:
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                context_schema_type_0 = EventContextSchemaType0.from_dict(data)

                return context_schema_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(EventContextSchemaType0 | None, data)

        context_schema = _parse_context_schema(d.pop("context_schema"))

        def _parse_example(data: object) -> EventExampleType0 | None:
            if data is None:
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                example_type_0 = EventExampleType0.from_dict(data)

                return example_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(EventExampleType0 | None, data)

        example = _parse_example(d.pop("example"))

        event = cls(
            id=id,
            name=name,
            slug=slug,
            description=description,
            active=active,
            locked=locked,
            channels=channels,
            pools=pools,
            priority=priority,
            context_schema=context_schema,
            example=example,
        )

        event.additional_properties = d
        return event

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
