// SPDX-License-Identifier: MIT
// A cuFFT that can be loaded and computes nothing; without FAKE_COMPLETE it lacks all functions.
#ifdef FAKE_COMPLETE
extern "C" {
int cufftCreate(int*) {
  return 5;
}
int cufftDestroy(int) {
  return 0;
}
int cufftSetAutoAllocation(int, int) {
  return 0;
}
int cufftMakePlanMany() {
  return 5;
}
int cufftSetStream(int, void*) {
  return 0;
}
int cufftSetWorkArea(int, void*) {
  return 0;
}
int cufftExecR2C(int, void*, void*) {
  return 5;
}
int cufftExecC2R(int, void*, void*) {
  return 5;
}
}
#else
extern "C" int cufft_without_functions() {
  return 0;
}
#endif
