/* Behind a source, which is included in front: the code of --setup. */
#ifdef __cplusplus
extern "C"
#endif
void slowpath_setup_code(void);
void slowpath_setup_code(void)
{
	SLOWPATH_SETUP;
}
