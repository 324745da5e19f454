// SPDX-License-Identifier: MIT
#include "engine/platform/library.h"

#include <windows.h>
// after windows.h
#include <aclapi.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <memory>
#include <vector>

#include "text.h"

namespace grainless {
namespace {

namespace fs = std::filesystem;

// What lets somebody put other code into a file, or another file into its place. Each drive's own
// folder lets every user add folders, so that is not among them.
constexpr DWORD kChangesFile = FILE_WRITE_DATA | FILE_APPEND_DATA | DELETE | WRITE_DAC |
                               WRITE_OWNER | GENERIC_WRITE | GENERIC_ALL;
constexpr DWORD kChangesFolder = FILE_ADD_FILE | FILE_DELETE_CHILD | DELETE | WRITE_DAC |
                                 WRITE_OWNER | GENERIC_WRITE | GENERIC_ALL;

struct LocalFreer {
  void operator()(void* memory) const { LocalFree(memory); }
};

// Owner and rights of a file or folder; both pointers lead into `memory`.
struct Security {
  PSID owner = nullptr;
  PACL rights = nullptr;
  std::unique_ptr<void, LocalFreer> memory;
};

bool read_security(const fs::path& path, Security& security) {
  PSECURITY_DESCRIPTOR memory = nullptr;
  const DWORD error = GetNamedSecurityInfoW(
      path.c_str(), SE_FILE_OBJECT, OWNER_SECURITY_INFORMATION | DACL_SECURITY_INFORMATION,
      &security.owner, nullptr, &security.rights, nullptr, &memory);
  security.memory.reset(memory);
  return error == ERROR_SUCCESS;
}

bool is_one_of(PSID who, std::initializer_list<WELL_KNOWN_SID_TYPE> known) {
  return std::any_of(known.begin(), known.end(),
                     [&](WELL_KNOWN_SID_TYPE type) { return IsWellKnownSid(who, type) != 0; });
}

bool is_this_user(PSID who) {
  HANDLE token = nullptr;
  if (OpenProcessToken(GetCurrentProcess(), TOKEN_QUERY, &token) == 0) return false;
  alignas(TOKEN_USER) char memory[sizeof(TOKEN_USER) + SECURITY_MAX_SID_SIZE];
  DWORD bytes = 0;
  const bool known = GetTokenInformation(token, TokenUser, memory, sizeof memory, &bytes) != 0;
  CloseHandle(token);
  return known && EqualSid(who, reinterpret_cast<const TOKEN_USER*>(memory)->User.Sid) != 0;
}

// What Windows' own installer puts into place belongs to this account, which no list of known ones
// has.
bool is_installer(PSID who) {
  alignas(SID) char memory[SECURITY_MAX_SID_SIZE];
  DWORD bytes = sizeof memory, domain_units = 0;
  SID_NAME_USE use;
  std::vector<wchar_t> domain(256);
  domain_units = static_cast<DWORD>(domain.size());
  return LookupAccountNameW(nullptr, L"NT SERVICE\\TrustedInstaller", memory, &bytes, domain.data(),
                            &domain_units, &use) != 0 &&
         EqualSid(who, memory) != 0;
}

bool is_trusted_owner(PSID who) {
  return is_this_user(who) || is_one_of(who, {WinLocalSystemSid, WinBuiltinAdministratorsSid}) ||
         is_installer(who);
}

// Whether groups that anybody may belong to have one of the rights `changes`.
bool others_can_change(const Security& security, DWORD changes) {
  if (security.rights == nullptr) return true;  // no list: everybody may do everything
  for (DWORD i = 0; i < security.rights->AceCount; ++i) {
    void* entry = nullptr;
    if (GetAce(security.rights, i, &entry) == 0) return true;
    auto* allowed = static_cast<ACCESS_ALLOWED_ACE*>(entry);
    if (allowed->Header.AceType != ACCESS_ALLOWED_ACE_TYPE ||
        (allowed->Header.AceFlags & INHERIT_ONLY_ACE) != 0 || (allowed->Mask & changes) == 0) {
      continue;
    }
    if (is_one_of(&allowed->SidStart,
                  {WinWorldSid, WinAuthenticatedUserSid, WinBuiltinUsersSid, WinBuiltinGuestsSid,
                   WinInteractiveSid, WinNetworkSid, WinAnonymousSid})) {
      return true;
    }
  }
  return false;
}

// A part of the file at an offset; false beyond its end.
template <typename Part>
bool read_at(std::ifstream& file, uint64_t offset, Part& part) {
  file.seekg(static_cast<std::streamoff>(offset));
  return static_cast<bool>(file.read(reinterpret_cast<char*>(&part), sizeof part));
}

// GCC's table of symbols lies behind all sections, and the names, whose size comes first, behind
// it.
bool has_whole_symbols(std::ifstream& file, const IMAGE_FILE_HEADER& header, uint64_t size) {
  if (header.PointerToSymbolTable == 0) return true;
  const uint64_t names =
      header.PointerToSymbolTable + uint64_t{header.NumberOfSymbols} * IMAGE_SIZEOF_SYMBOL;
  uint32_t bytes = 0;
  return read_at(file, names, bytes) && names + bytes <= size;
}

}  // namespace

std::mutex& loading_mutex() {
  static std::mutex mutex;
  return mutex;
}

void* load_library(const std::string& path, std::string& why) {
  // What it needs in turn comes from its own folder and Windows', never from the working one.
  HMODULE library = LoadLibraryExW(wide(path).c_str(), nullptr,
                                   LOAD_LIBRARY_SEARCH_DLL_LOAD_DIR | LOAD_LIBRARY_SEARCH_SYSTEM32);
  why = library == nullptr ? windows_message(GetLastError()) : "";
  return reinterpret_cast<void*>(library);
}

void* library_symbol(void* library, const char* name) {
  return reinterpret_cast<void*>(GetProcAddress(reinterpret_cast<HMODULE>(library), name));
}

Writers writers_of(const fs::path& file, fs::path& place) {
  std::error_code error;
  Security security;
  if (!fs::is_regular_file(file, error) || !read_security(file, security)) return Writers::kNoFile;
  if (!is_trusted_owner(security.owner)) return Writers::kForeignOwner;
  for (place = file;; place = place.parent_path()) {
    const DWORD changes = place == file ? kChangesFile : kChangesFolder;
    if (!read_security(place, security) || others_can_change(security, changes)) {
      return Writers::kOthers;
    }
    if (place == place.parent_path()) return Writers::kOwnerAlone;
  }
}

bool is_whole_program(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  const uint64_t size = fs::file_size(path);
  IMAGE_DOS_HEADER start;
  IMAGE_NT_HEADERS64 header;
  if (!read_at(file, 0, start) || start.e_magic != IMAGE_DOS_SIGNATURE || start.e_lfanew <= 0 ||
      !read_at(file, static_cast<uint64_t>(start.e_lfanew), header) ||
      header.Signature != IMAGE_NT_SIGNATURE ||
      header.OptionalHeader.Magic != IMAGE_NT_OPTIONAL_HDR64_MAGIC) {
    return false;
  }
  const uint64_t sections = static_cast<uint64_t>(start.e_lfanew) +
                            offsetof(IMAGE_NT_HEADERS64, OptionalHeader) +
                            header.FileHeader.SizeOfOptionalHeader;
  for (uint64_t i = 0; i < header.FileHeader.NumberOfSections; ++i) {
    IMAGE_SECTION_HEADER section;
    if (!read_at(file, sections + i * sizeof section, section) ||
        uint64_t{section.PointerToRawData} + section.SizeOfRawData > size) {
      return false;
    }
  }
  return has_whole_symbols(file, header.FileHeader, size);
}

}  // namespace grainless
