// SPDX-License-Identifier: MIT
#include "text.h"

#include <windows.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

namespace grainless {

std::wstring wide(const std::string& text) {
  const int bytes = static_cast<int>(text.size());
  std::wstring result(
      static_cast<size_t>(MultiByteToWideChar(CP_UTF8, 0, text.data(), bytes, nullptr, 0)), L'\0');
  MultiByteToWideChar(CP_UTF8, 0, text.data(), bytes, result.data(),
                      static_cast<int>(result.size()));
  return result;
}

std::string utf8(const std::wstring& text) {
  const int units = static_cast<int>(text.size());
  std::string result(static_cast<size_t>(WideCharToMultiByte(CP_UTF8, 0, text.data(), units,
                                                             nullptr, 0, nullptr, nullptr)),
                     '\0');
  WideCharToMultiByte(CP_UTF8, 0, text.data(), units, result.data(),
                      static_cast<int>(result.size()), nullptr, nullptr);
  return result;
}

std::string windows_message(unsigned long error) {
  wchar_t text[512];
  const DWORD units =
      FormatMessageW(FORMAT_MESSAGE_FROM_SYSTEM | FORMAT_MESSAGE_IGNORE_INSERTS, nullptr, error, 0,
                     text, static_cast<DWORD>(std::size(text)), nullptr);
  std::string message = utf8({text, units});
  std::replace(message.begin(), message.end(), '\n', ' ');
  const size_t end = message.find_last_not_of(" \r.");
  return end == std::string::npos ? "error " + std::to_string(error) : message.substr(0, end + 1);
}

int errno_of_last_error() {
  switch (GetLastError()) {
    case ERROR_FILE_NOT_FOUND:
    case ERROR_PATH_NOT_FOUND:
    case ERROR_INVALID_NAME:
    case ERROR_BAD_NETPATH:
    case ERROR_INVALID_DRIVE:
      return ENOENT;
    case ERROR_ACCESS_DENIED:
    case ERROR_SHARING_VIOLATION:
    case ERROR_LOCK_VIOLATION:
      return EACCES;
    case ERROR_FILE_EXISTS:
    case ERROR_ALREADY_EXISTS:
      return EEXIST;
    case ERROR_DISK_FULL:
    case ERROR_HANDLE_DISK_FULL:
      return ENOSPC;
    case ERROR_WRITE_PROTECT:
      return EROFS;
    case ERROR_DIRECTORY:
      return ENOTDIR;
    default:
      return EIO;
  }
}

}  // namespace grainless
