"""`ti.BitpackedFields`: several fields of quantised numbers that share the bits of a word."""

from ..diagnostics import say
from . import snode
from .field import Field


class BitpackedFields(snode.Placeable):
    """Fields whose elements with equal indices share one word.

    max_num_bits: the number of bits of the word: 8, 16, 32 or 64.

        position = ti.field(ti.types.quant.fixed(bits=20, max_value=2.0))
        color = ti.field(ti.types.quant.int(bits=12, signed=False))
        both = ti.BitpackedFields(max_num_bits=32)
        both.place(position, color)
        ti.root.dense(ti.i, 1024).place(both)
        color[3] = 100
        print(color[3])  # prints: 100
    """

    def __init__(self, max_num_bits):
        snode.check_word_bits(max_num_bits)
        self._bits = max_num_bits
        self._used = 0
        self._members = []  # (field, component, number of the member with its exponent, or None)

    def place(self, *args, shared_exponent=False):
        """Adds fields, in the order of their bits.

        args: fields of quantised types. shared_exponent: whether the floats among them share one
        exponent, that of the largest. Raises TaichiTypeError for an argument that is not a field.
        Raises TaichiRuntimeError for other types of elements, or if the word has too few bits.
        """
        leader = None
        if shared_exponent and sum(getattr(f, "_num_components", 1) for f in args) < 2:
            raise say.exponent_shared_by_one()
        for field in args:
            if not isinstance(field, Field):
                raise say.bitpacked_is_no_field(value=field)
            for component in range(field._num_components):
                quant = field._quant_type(component)
                if quant is None:
                    raise say.not_quantised_in_word(title=field._title(), kind="bit_struct")
                shares = shared_exponent and quant.kind == "float"
                if shares and leader is None:
                    leader = len(self._members)
                    exponent_bits = quant.exponent_bits
                elif shares and quant.exponent_bits != exponent_bits:
                    raise say.shared_exponents_differ(
                        title=field._title(), got=quant.exponent_bits, bits=exponent_bits
                    )
                self._take(field, component, quant, leader if shares else None)

    def _take(self, field, component, quant, leader):
        known = any(field is other and component == at for other, at, _ in self._members)
        if known or field._places[component] is not None:
            raise say.has_been_placed_already(title=field._title())
        used = self._used + quant.bits
        if leader in (None, len(self._members)):
            used += quant.exponent_bits
        if used > self._bits:
            raise say.word_overflows(what="BitpackedFields", used=used, bits=self._bits)
        self._used = used
        self._members.append((field, component, leader))

    def _place_in(self, parent, offset):
        """Makes the SNodes of the word below `parent`."""
        if parent._kind.is_place or parent._kind.is_word:
            raise say.only_fields_in_words(kind=parent._kind_name)
        if not self._members:
            raise say.nothing_is_bitpacked()
        word = snode.SNode(parent._builder, snode.KINDS["bit_struct"], (), parent)
        word._word_bits = self._bits
        places = []
        for field, component, leader in self._members:
            word._place_component(field, component, offset)
            places.append(field._places[component])
            if leader is not None:
                places[-1]._exponent = places[leader]


__all__ = ["BitpackedFields"]
