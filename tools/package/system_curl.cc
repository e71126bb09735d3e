// The functions of libcurl that server/remote/http calls, for programs that do not contain libcurl:
// it draws in Kerberos, LDAP and two libraries for TLS. The machine's own libcurl.so.4 does the
// work, loaded when a configuration names an HTTP cache. Without it, curl_global_init fails with
// the reason.
#include <curl/curl.h>
#include <dlfcn.h>

#include <cstdarg>

#undef curl_easy_setopt
#undef curl_easy_getinfo
#undef curl_multi_setopt

namespace {

// From 7.85 on: CURLOPT_PROTOCOLS_STR, which older versions would ignore.
constexpr unsigned kOldest = 0x075500;
constexpr CURLcode kMissing = CURLE_NOT_BUILT_IN, kTooOld = CURLE_OBSOLETE20;

void* Library() {
  static void* const library = dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);
  return library;
}

// The library's function of that name and type. Only curl_global_init meets a missing library: its
// callers stop there.
template <typename Function>
Function* Find(const char* name, Function*) {
  return reinterpret_cast<Function*>(dlsym(Library(), name));
}

#define KILN_CURL(name) static const auto function = Find(#name, &(name))

}  // namespace

extern "C" {

CURLcode curl_global_init(long flags) {
  if (Library() == nullptr) return kMissing;
  const auto version = Find("curl_version_info", &curl_version_info);
  if (version == nullptr || version(CURLVERSION_NOW)->version_num < kOldest) return kTooOld;
  KILN_CURL(curl_global_init);
  return function(flags);
}

const char* curl_easy_strerror(CURLcode code) {
  if (code == kMissing) {
    return "HTTP caches need libcurl.so.4 on this machine (Debian's package libcurl4)";
  }
  if (code == kTooOld) return "HTTP caches need libcurl 7.85 or later; this machine's is older";
  KILN_CURL(curl_easy_strerror);
  return function(code);
}

CURL* curl_easy_init(void) {
  KILN_CURL(curl_easy_init);
  return function();
}

void curl_easy_cleanup(CURL* easy) {
  KILN_CURL(curl_easy_cleanup);
  function(easy);
}

// Every value is a pointer or a whole number of 64 bits, and is passed in the same way.
CURLcode curl_easy_setopt(CURL* easy, CURLoption option, ...) {
  va_list values;
  va_start(values, option);
  void* const value = va_arg(values, void*);
  va_end(values);
  KILN_CURL(curl_easy_setopt);
  return function(easy, option, value);
}

CURLcode curl_easy_getinfo(CURL* easy, CURLINFO info, ...) {
  va_list values;
  va_start(values, info);
  void* const value = va_arg(values, void*);
  va_end(values);
  KILN_CURL(curl_easy_getinfo);
  return function(easy, info, value);
}

curl_slist* curl_slist_append(curl_slist* list, const char* text) {
  KILN_CURL(curl_slist_append);
  return function(list, text);
}

void curl_slist_free_all(curl_slist* list) {
  KILN_CURL(curl_slist_free_all);
  function(list);
}

CURLM* curl_multi_init(void) {
  KILN_CURL(curl_multi_init);
  return function();
}

CURLMcode curl_multi_cleanup(CURLM* multi) {
  KILN_CURL(curl_multi_cleanup);
  return function(multi);
}

CURLMcode curl_multi_setopt(CURLM* multi, CURLMoption option, ...) {
  va_list values;
  va_start(values, option);
  void* const value = va_arg(values, void*);
  va_end(values);
  KILN_CURL(curl_multi_setopt);
  return function(multi, option, value);
}

CURLMcode curl_multi_add_handle(CURLM* multi, CURL* easy) {
  KILN_CURL(curl_multi_add_handle);
  return function(multi, easy);
}

CURLMcode curl_multi_remove_handle(CURLM* multi, CURL* easy) {
  KILN_CURL(curl_multi_remove_handle);
  return function(multi, easy);
}

CURLMcode curl_multi_perform(CURLM* multi, int* running) {
  KILN_CURL(curl_multi_perform);
  return function(multi, running);
}

CURLMcode curl_multi_poll(CURLM* multi, curl_waitfd* extra, unsigned count, int milliseconds,
                          int* ready) {
  KILN_CURL(curl_multi_poll);
  return function(multi, extra, count, milliseconds, ready);
}

CURLMsg* curl_multi_info_read(CURLM* multi, int* left) {
  KILN_CURL(curl_multi_info_read);
  return function(multi, left);
}

}  // extern "C"
