/* The code of --setup; clang includes the source in front of it. */
#ifdef __cplusplus
extern "C"
#endif
void slowpath_setup_code(void);
void slowpath_setup_code(void)
{
	SLOWPATH_SETUP;
}
