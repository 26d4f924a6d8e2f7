// SPDX-License-Identifier: Apache-2.0
// A profiler for tests: NVTX loads it where NVTX_INJECTION64_PATH names it. It writes down, thread
// by thread, which ranges open inside which. Tests load the same file to read the notes.
#include <cstdint>
#include <cstring>
#include <mutex>
#include <string>
#include <vector>

#include <nvtx3/nvToolsExt.h>

namespace {

struct Notes {
  std::mutex mutex;
  std::string domain;
  std::vector<std::string> ranges;  // "layer 0 > qkv", in the order of opening
  int pops_too_many = 0;
};

// Lives as long as the process: ranges may close while it ends.
Notes& notes() {
  static Notes& instance = *new Notes;
  return instance;
}

thread_local std::vector<std::string> open_ranges;

nvtxDomainHandle_t create_domain(const char* name) {
  Notes& all = notes();
  const std::lock_guard lock(all.mutex);
  all.domain = name;
  return reinterpret_cast<nvtxDomainHandle_t>(&all);
}

nvtxStringHandle_t register_string(nvtxDomainHandle_t, const char* text) {
  return reinterpret_cast<nvtxStringHandle_t>(::strdup(text));  // for the life of the process
}

int push(nvtxDomainHandle_t, const nvtxEventAttributes_t* range) {
  const char* const name = range->messageType == NVTX_MESSAGE_TYPE_REGISTERED
                               ? reinterpret_cast<const char*>(range->message.registered)
                               : range->message.ascii;
  open_ranges.emplace_back(name);
  std::string path;
  for (const std::string& open : open_ranges) path += (path.empty() ? "" : " > ") + open;
  Notes& all = notes();
  const std::lock_guard lock(all.mutex);
  all.ranges.push_back(path);
  return static_cast<int>(open_ranges.size()) - 1;
}

int pop(nvtxDomainHandle_t) {
  if (open_ranges.empty()) {
    const std::lock_guard lock(notes().mutex);
    ++notes().pops_too_many;
    return NVTX_NO_PUSH_POP_TRACKING;
  }
  open_ranges.pop_back();
  return static_cast<int>(open_ranges.size());
}

template <class Function>
void install(NvtxFunctionTable table, unsigned count, unsigned index, Function function) {
  if (index < count) *table[index] = reinterpret_cast<NvtxFunctionPointer>(function);
}

}  // namespace

extern "C" {

__attribute__((visibility("default"))) int InitializeInjectionNvtx2(
    NvtxGetExportTableFunc_t get_table) {
  const auto* callbacks =
      static_cast<const NvtxExportTableCallbacks*>(get_table(NVTX_ETID_CALLBACKS));
  if (callbacks == nullptr) return 0;
  NvtxFunctionTable table = nullptr;
  unsigned count = 0;
  if (callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &table, &count) == 0) return 0;
  install(table, count, NVTX_CBID_CORE2_DomainCreateA, create_domain);
  install(table, count, NVTX_CBID_CORE2_DomainRegisterStringA, register_string);
  install(table, count, NVTX_CBID_CORE2_DomainRangePushEx, push);
  install(table, count, NVTX_CBID_CORE2_DomainRangePop, pop);
  return 1;
}

/// All ranges so far, one per line, after a line with the domain's name, the ranges that the
/// calling thread has open and the pops that had none to close. Valid until the next call.
__attribute__((visibility("default"))) const char* reprise_nvtx_notes() {
  static std::string text;
  Notes& all = notes();
  const std::lock_guard lock(all.mutex);
  text = all.domain + " " + std::to_string(open_ranges.size()) + " " +
         std::to_string(all.pops_too_many) + "\n";
  for (const std::string& range : all.ranges) text += range + "\n";
  return text.c_str();
}

}  // extern "C"
