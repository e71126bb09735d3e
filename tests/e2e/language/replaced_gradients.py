"""`ti.ad.grad_replaced`, `grad_for` and `no_grad`: functions whose gradients the program writes."""

from harness import case, scalars, ti


@case()
def replaced_gradients(show):
    x, loss = scalars(2)
    log = []

    @ti.kernel
    def k(scale: ti.f32):
        loss[None] += x[None] * scale

    @ti.ad.grad_replaced
    def forward(scale):
        log.append("forward")
        k(scale)

    @ti.ad.grad_for(forward)
    def backward(scale):
        log.append("backward")
        x.grad[None] += 100 * scale

    x[None] = 7
    with ti.ad.Tape(loss) as tape:
        forward(2.0)
        k(1.0)
    show(x.grad[None], loss[None], log, len(tape.calls))


@case()
def replaced_gradients_of_methods(show):
    @ti.data_oriented
    class Model:
        def __init__(self, scale):
            self.scale = scale

        @ti.kernel
        def k(self):
            loss[None] += x[None] * self.scale

        @ti.ad.grad_replaced
        def forward(self):
            self.k()

        @ti.ad.grad_for(forward)
        def backward(self):
            self.k.grad()
            self.k.grad()

    x, loss = scalars(2)
    with ti.ad.Tape(loss):
        Model(5).forward()
    show(x.grad[None])


@case()
def functions_without_gradients(show):
    x, loss = scalars(2)

    @ti.kernel
    def k():
        loss[None] += x[None] * 3

    @ti.ad.no_grad
    def skipped():
        k()

    x[None] = 7
    with ti.ad.Tape(loss):
        skipped()
        k()
    show(loss[None], x.grad[None])


@case()
def mistakes_with_replaced_gradients(show):
    @ti.kernel
    def k():
        pass

    def plain():
        pass

    def backward():
        pass

    show.error(ti.ad.grad_for(k), backward)
    show.error(ti.ad.grad_for(plain), backward)


@case(differs="functions without `grad_for`")
def missing_replacements(show):
    (loss,) = scalars(1)

    @ti.ad.grad_replaced
    def forward():
        pass

    def run():
        with ti.ad.Tape(loss):
            forward()

    show.error(run)
