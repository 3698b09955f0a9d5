"""torch._dynamo.exc: what weft.compile raises is weft's own."""


class TorchDynamoException(RuntimeError):
    pass


class InternalTorchDynamoError(TorchDynamoException):
    pass


class Unsupported(TorchDynamoException):
    pass


class UserError(TorchDynamoException):
    pass


class BackendCompilerFailed(TorchDynamoException):
    pass


class FailOnRecompileLimitHit(TorchDynamoException):
    pass
