// Describes structs of the program to kernels.
//
//   struct Particle {
//     Vec<float, 2> place, speed;
//     float mass;
//   };
//   KILN_STRUCT(Particle, place, speed, mass);
//
//   Field<Particle, 1> particles({1000});
//   Kernel move("move", [&](Value<float> dt) {
//     ForEach(particles, [&](Int i) { particles[i].place += dt * particles[i].speed; });
//   });
#ifndef KILN_DSL_STRUCT_HPP_
#define KILN_DSL_STRUCT_HPP_

#include <cstddef>
#include <type_traits>

namespace kiln::dsl::detail {

// What KILN_STRUCT says of S.
template <typename S>
struct Struct {
  static constexpr bool kIsDescribed = false;
};
template <typename T>
constexpr bool kIsStruct = Struct<T>::kIsDescribed;
template <typename T>
using IfStruct = std::enable_if_t<kIsStruct<T>>;

// A member of a struct. pick(object) is that of a struct, or of what has members of its names.
template <typename T, typename Pick>
struct Member {
  using Type = T;
  Pick pick;
  std::size_t offset;  // bytes in the struct
};
template <typename T, typename Pick>
constexpr Member<T, Pick> MakeMember(Pick pick, std::size_t offset) {
  return {pick, offset};
}

// Makes each member of an object by a function.
struct ByMember {};

// Whether the members fill S but for padding: a description that lacks one would lose data.
template <typename S>
constexpr bool FillsStruct() {
  std::size_t end = 0;
  bool fills = true;
  Struct<S>::ForEach([&](auto member) {
    fills = fills && member.offset >= end && member.offset - end < alignof(S);
    end = member.offset + sizeof(typename decltype(member)::Type);
  });
  return fills && sizeof(S) - end < alignof(S);
}

}  // namespace kiln::dsl::detail

// KILN_STRUCT(S, member, ...): S has these members in this order, and no others. There are at most
// 16: numbers, Vec, Mat, or structs that are described, too. Belongs after the struct, outside of
// all namespaces; S is then the name with its namespace.
#define KILN_STRUCT(S, ...)                                                        \
  template <>                                                                      \
  struct kiln::dsl::detail::Struct<S> {                                            \
    static constexpr bool kIsDescribed = true;                                     \
    /* An object for each member, with its name, of type As<the member's type>. */ \
    template <template <typename> class As>                                        \
    struct Members {                                                               \
      template <typename Make>                                                     \
      Members(ByMember, const Make& make)                                          \
          : KILN_DSL_EACH(KILN_DSL_MAKE, KILN_DSL_COMMA, S, __VA_ARGS__) {}        \
      KILN_DSL_EACH(KILN_DSL_DECLARE, KILN_DSL_NOTHING, S, __VA_ARGS__)            \
    };                                                                             \
    /* Calls visit with a Member for each, in order. */                            \
    template <typename Visit>                                                      \
    static constexpr void ForEach(const Visit& visit) {                            \
      KILN_DSL_EACH(KILN_DSL_VISIT, KILN_DSL_NOTHING, S, __VA_ARGS__)              \
    }                                                                              \
  };                                                                               \
  static_assert(::kiln::dsl::detail::FillsStruct<S>(),                             \
                "KILN_STRUCT names all members of the struct, in their order")

#define KILN_DSL_MEMBER(S, m)                                                                     \
  ::kiln::dsl::detail::MakeMember<decltype(S::m)>([](auto& object) -> auto& { return object.m; }, \
                                                  offsetof(S, m))
#define KILN_DSL_MAKE(S, m) m(make(KILN_DSL_MEMBER(S, m)))
#define KILN_DSL_DECLARE(S, m) As<decltype(S::m)> m;
#define KILN_DSL_VISIT(S, m) visit(KILN_DSL_MEMBER(S, m));
#define KILN_DSL_COMMA() ,
#define KILN_DSL_NOTHING()

// what(S, m) for each m, with a separator between them.
#define KILN_DSL_EACH(what, separator, S, ...)                                          \
  KILN_DSL_NAME(__VA_ARGS__, KILN_DSL_EACH_16, KILN_DSL_EACH_15, KILN_DSL_EACH_14,      \
                KILN_DSL_EACH_13, KILN_DSL_EACH_12, KILN_DSL_EACH_11, KILN_DSL_EACH_10, \
                KILN_DSL_EACH_9, KILN_DSL_EACH_8, KILN_DSL_EACH_7, KILN_DSL_EACH_6,     \
                KILN_DSL_EACH_5, KILN_DSL_EACH_4, KILN_DSL_EACH_3, KILN_DSL_EACH_2,     \
                KILN_DSL_EACH_1, 0)                                                     \
  (what, separator, S, __VA_ARGS__)
#define KILN_DSL_NAME(m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, name, \
                      ...)                                                                         \
  name
#define KILN_DSL_EACH_1(what, separator, S, m) what(S, m)
#define KILN_DSL_EACH_2(what, separator, S, m, ...) \
  what(S, m) separator() KILN_DSL_EACH_1(what, separator, S, __VA_ARGS__)
#define KILN_DSL_EACH_3(what, separator, S, m, ...) \
  what(S, m) separator() KILN_DSL_EACH_2(what, separator, S, __VA_ARGS__)
#define KILN_DSL_EACH_4(what, separator, S, m, ...) \
  what(S, m) separator() KILN_DSL_EACH_3(what, separator, S, __VA_ARGS__)
#define KILN_DSL_EACH_5(what, separator, S, m, ...) \
  what(S, m) separator() KILN_DSL_EACH_4(what, separator, S, __VA_ARGS__)
#define KILN_DSL_EACH_6(what, separator, S, m, ...) \
  what(S, m) separator() KILN_DSL_EACH_5(what, separator, S, __VA_ARGS__)
#define KILN_DSL_EACH_7(what, separator, S, m, ...) \
  what(S, m) separator() KILN_DSL_EACH_6(what, separator, S, __VA_ARGS__)
#define KILN_DSL_EACH_8(what, separator, S, m, ...) \
  what(S, m) separator() KILN_DSL_EACH_7(what, separator, S, __VA_ARGS__)
#define KILN_DSL_EACH_9(what, separator, S, m, ...) \
  what(S, m) separator() KILN_DSL_EACH_8(what, separator, S, __VA_ARGS__)
#define KILN_DSL_EACH_10(what, separator, S, m, ...) \
  what(S, m) separator() KILN_DSL_EACH_9(what, separator, S, __VA_ARGS__)
#define KILN_DSL_EACH_11(what, separator, S, m, ...) \
  what(S, m) separator() KILN_DSL_EACH_10(what, separator, S, __VA_ARGS__)
#define KILN_DSL_EACH_12(what, separator, S, m, ...) \
  what(S, m) separator() KILN_DSL_EACH_11(what, separator, S, __VA_ARGS__)
#define KILN_DSL_EACH_13(what, separator, S, m, ...) \
  what(S, m) separator() KILN_DSL_EACH_12(what, separator, S, __VA_ARGS__)
#define KILN_DSL_EACH_14(what, separator, S, m, ...) \
  what(S, m) separator() KILN_DSL_EACH_13(what, separator, S, __VA_ARGS__)
#define KILN_DSL_EACH_15(what, separator, S, m, ...) \
  what(S, m) separator() KILN_DSL_EACH_14(what, separator, S, __VA_ARGS__)
#define KILN_DSL_EACH_16(what, separator, S, m, ...) \
  what(S, m) separator() KILN_DSL_EACH_15(what, separator, S, __VA_ARGS__)

#endif  // KILN_DSL_STRUCT_HPP_
