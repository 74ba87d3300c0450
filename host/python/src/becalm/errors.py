"""What is raised, with a hint where there is something to do. A document that failed is an outcome, not an error; what wasmtime
raises is not translated."""


class Error(Exception):
    """What the component does not accept. Nothing was sent, and none of that call's documents was taken."""


class SettingsError(Error):
    """A setting cannot be used: `field` is its path as the contract has it, such as `retry.max-attempts`."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(f"{field}: {message}")
        self.field = field
        self.message = message


class DuplicateId(Error):
    """This id is in use by a document that has no outcome yet, or occurs twice in the call."""

    def __init__(self, id: str) -> None:
        super().__init__(f"the id {id!r} is in use\nhint: give every document an id of its own")
        self.id = id


class Stopped(Error):
    """The session was stopped, by `stop` or by a failure that would hit every document."""

    def __init__(self) -> None:
        super().__init__("the session was stopped\nhint: open another one for what is left")
