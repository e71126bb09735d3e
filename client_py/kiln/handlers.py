"""Tells errors of the program's signal handlers from those of the code that they interrupt.

A handler runs between any two steps of Python, so also while Kiln runs code of the program and
catches its errors. An error of a handler, such as the TimeoutError of an alarm, has to reach the
program as it is:

    except Exception as error:
        if raised_by_handler(error):
            raise
"""

_VAR_POSITIONAL = 4  # of code.co_flags


def raised_by_handler(error):
    """Whether a signal handler raised the error that the caller has caught."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        if _handles(trace.tb_next.tb_frame, trace.tb_frame):
            return True
        trace = trace.tb_next
    return False


def _handles(frame, interrupted):
    """Whether `frame` is a call of a handler: its arguments are a signal's number and the frame
    that the signal interrupted."""
    code = frame.f_code
    values = frame.f_locals
    arguments = [values.get(name) for name in code.co_varnames[: code.co_argcount]]
    if code.co_flags & _VAR_POSITIONAL:
        rest = values.get(code.co_varnames[code.co_argcount + code.co_kwonlyargcount])
        arguments.extend(rest if isinstance(rest, tuple) else ())
    pairs = zip(arguments, arguments[1:])
    return any(isinstance(number, int) and of is interrupted for number, of in pairs)
