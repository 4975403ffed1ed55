"""Clicking and submitting: what a person does with buttons, inputs and modals."""

from bot.local_slack import interactions
from bot.local_slack.acting import Acting, plainly
from bot.local_slack.delivery import Kind
from bot.local_slack.limits import check_view
from bot.local_slack.shapes import Json, PersonError
from bot.local_slack.world import Channel


class Clicks(Acting):
    """A person in front of messages, Home tabs and modals."""

    async def click(
        self,
        shown: Json | str,
        action_id: str,
        *,
        block_id: str = "",
        value: object = None,
        selected: object = None,
        as_seen: bool = False,
    ) -> None:
        """Use a button or another element of a message, an ephemeral message, Home or a modal.

        ``shown`` is that object, or its ``ts`` or view id. ``value`` is the feedback button's
        value; ``selected`` is the choice in a menu (its value, or Slack's own form). ``as_seen``
        clicks on the message as it is handed over: a client may show one that was changed since.
        """
        wanted = shown if isinstance(shown, str) else str(shown.get("ts") or shown.get("id"))
        view = self._view(wanted)
        if view is not None:
            await self._click_view(view, action_id, block_id, value, selected)
            return
        place, found, ephemeral = self._shown(wanted)
        if as_seen and not isinstance(shown, str):
            found = shown
        block, element = interactions.find_element(found.get("blocks") or [], action_id, block_id)
        payload = interactions.base(self._world, self.member, "block_actions")
        payload |= interactions.message_place(place, found, ephemeral)
        if not ephemeral:
            payload["message"] = found
        payload["state"] = {"values": {}}
        url = interactions.response_url(self._world, self.member, place, found, ephemeral)
        payload["response_url"] = url
        payload["actions"] = [interactions.action(self._world, block, element, value, selected)]
        await self._ask(Kind.INTERACTIVE, payload)

    async def submit(self, view_id: str, values: Json) -> Json:
        """Submit the modal with ``{block_id: {action_id: value}}``; the app's errors per block.

        An empty answer means that the app took it. The app's ack may close, replace or stack
        modals, as in Slack.
        """
        view = self._modal(view_id)
        filled = {**view, "state": interactions.view_state(view, values)}
        payload = interactions.base(self._world, self.member, "view_submission", view_id)
        payload |= {"view": filled, "response_urls": []}
        body = (await self._ask(Kind.INTERACTIVE, payload)).body or {}
        kind = body.get("response_action")
        if kind == "errors":
            return dict(body.get("errors") or {})
        views = self._world.views
        if kind == "update":
            fresh = plainly(lambda: check_view(body.get("view"), modal=True))
            plainly(lambda: views.update(fresh, view_id, "", ""))
        elif kind == "push":
            fresh = plainly(lambda: check_view(body.get("view"), modal=True))
            plainly(lambda: views.show(self.id, fresh, views.stacks.get(self.id, [])))
        elif kind == "clear":
            views.close_all(self.id)
        else:
            views.close(self.id, view_id)
        return {}

    async def close_view(self, view_id: str) -> None:
        """Close a modal without submitting it."""
        view = self._modal(view_id)
        self._world.views.close(self.id, view_id)
        if view.get("notify_on_close"):
            payload = interactions.base(self._world, self.member, "view_closed", view_id)
            del payload["trigger_id"]
            payload |= {"view": view, "is_cleared": False}
            await self._ask(Kind.INTERACTIVE, payload)

    async def forge_click(self, view: Json, action_id: str, block_id: str = "") -> None:
        """Click on another person's view: what Slack never lets anybody do, for hostile tests."""
        await self._click_view(view, action_id, block_id, None, None)

    async def forge_submission(self, view: Json, values: Json) -> None:
        """Submit another person's modal, with anything in it."""
        filled = {**view, "state": {"values": values}}
        payload = interactions.base(self._world, self.member, "view_submission", view["id"])
        await self._ask(Kind.INTERACTIVE, payload | {"view": filled, "response_urls": []})

    async def send_interaction(self, payload: Json) -> None:
        """Send the app an interaction of any form at all, for hostile tests."""
        await self._ask(Kind.INTERACTIVE, payload)

    def modal(self) -> Json | None:
        """The modal on top of this person's screen, if there is one."""
        stack = self._world.views.stacks.get(self.id)
        return self._world.views.modals[stack[-1]].view if stack else None

    def home(self) -> Json | None:
        """The Home tab that the app published for this person."""
        return self._world.views.homes.get(self.id)

    def ephemeral(self) -> list[Json]:
        """What only this person sees, oldest first."""
        return [one for one in self._world.ephemerals if one["user"] == self.id]

    async def _click_view(
        self, view: Json, action_id: str, block_id: str, value: object, selected: object
    ) -> None:
        block, element = interactions.find_element(view["blocks"], action_id, block_id)
        payload = interactions.base(self._world, self.member, "block_actions", view["id"])
        payload |= {
            "container": {"type": "view", "view_id": view["id"]},
            "view": view,
            "actions": [interactions.action(self._world, block, element, value, selected)],
        }
        await self._ask(Kind.INTERACTIVE, payload)

    def _view(self, wanted: str) -> Json | None:
        """The view with this id, if this person sees one."""
        home = self._world.views.homes.get(self.id)
        if home is not None and home["id"] == wanted:
            return home
        open_view = self._world.views.modals.get(wanted)
        return open_view.view if open_view is not None and open_view.user == self.id else None

    def _modal(self, view_id: str) -> Json:
        open_view = self._world.views.modals.get(view_id)
        if open_view is None or open_view.user != self.id:
            raise PersonError("This window is closed already.")
        return open_view.view

    def _shown(self, ts: str) -> tuple[Channel, Json, bool]:
        """The conversation and the message (or ephemeral message) with this ``ts``."""
        for channel in self._world.visible_to(self.id):
            if ts in channel.messages:
                return channel, channel.messages[ts], False
        for shown in self._world.ephemerals:
            if shown["id"] == ts and shown["user"] == self.id:
                return self._world.channels[shown["channel"]], shown, True
        raise PersonError("This message is not there any more.")
